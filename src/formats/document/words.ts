// The words of messages: what was expected, what stands there.

import type { TextNode } from "./node.ts";
import type { NumberShape, Shape } from "./shape.ts";

/** What would be right, in words. */
export function expected(shape: Shape): string {
  switch (shape.type) {
    case "string":
      return shape.enum === undefined ? "text" : shape.enum.map(quoted).join(" or ");
    case "any":
      return "a value";
    case "built":
      return shape.schema.rules.expected;
    case "number":
      if (shape.oneOf !== undefined) return shape.oneOf.join(" or ");
      return `a ${shape.integer === true ? "whole " : ""}number${range(shape)}`;
    case "boolean":
      return "true or false";
    case "duration":
      return 'a length of time such as 30, "500ms" or "2m"';
    case "size":
      return 'a size such as 4096, "512MB" or "1GiB"';
    case "list":
      return "a list";
    case "map":
    case "object":
      return "an object with keys";
    case "union":
      return shape.options.map(expected).join(" or ");
  }
}

function range({ minimum, maximum }: NumberShape): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (maximum !== undefined) return ` of at most ${maximum}`;
  return minimum === undefined ? "" : ` of at least ${minimum}`;
}

/** What stands there instead; text is not repeated, since it may be a secret. */
export function actual(node: TextNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "list") return "a list";
  if (node.kind === "null") return "nothing";
  if (node.kind === "string") return "text";
  return `the ${node.kind} ${node.source}`;
}

/** A stranger's word, short enough for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
