// Wording that the messages of all schemas share.

import type { TextNode } from "../document/index.ts";

/** Describes a value of the wrong kind. Texts are not repeated, because they may contain secrets. */
export function describeActual(node: TextNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "list") return "a list";
  if (node.kind === "null") return "nothing";
  if (node.kind === "string") return "text";
  return `the ${node.kind} ${node.source}`;
}

export function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (maximum !== undefined) return ` of at most ${maximum}`;
  return minimum === undefined ? "" : ` of at least ${minimum}`;
}
