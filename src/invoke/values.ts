// Arguments by their path, and how values are written as text.

import { isObject, type JsonObject, type TemplatePart } from "../model/index.ts";
import { named, Refusal } from "./refusal.ts";
import type { Run } from "./types.ts";

export type Gap = Exclude<TemplatePart, { kind: "text" }>;

/** Undefined when it is absent; null counts as absent wherever values become text. */
export function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const step of path) {
    // Never what every object inherits, such as "constructor".
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value ?? undefined;
}

/** The arguments without the one at the path; parents that are left empty go with it. */
export function withoutPath(args: JsonObject, path: readonly string[]): JsonObject {
  const [first, ...rest] = path;
  if (first === undefined || !Object.hasOwn(args, first)) return args;
  const child = args[first];
  const inner = rest.length > 0 && isObject(child) ? withoutPath(child, rest) : undefined;
  if (rest.length > 0 && (inner === undefined || inner === child)) return args;
  const entries = Object.entries(args).filter(([name]) => name !== first);
  if (inner === undefined || Object.keys(inner).length === 0) return Object.fromEntries(entries);
  return Object.fromEntries([...entries, [first, inner]]);
}

/** Numbers and booleans as JSON writes them, text as it is, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export function whatGap(part: Gap): string {
  return part.kind === "input" ? named(part.path) : `${part.kind} "${part.name}"`;
}

/** What fills a gap; undefined when an optional argument is absent. */
export function fillGap(part: Gap, run: Pick<Run, "args" | "headers">): unknown {
  switch (part.kind) {
    case "input":
      return valueAt(run.args, part.path);
    case "header":
      return headerOf(run.headers, part.name);
    case "env":
      // Those were put in when the server started; one that is left is a mistake of ours, not of the caller.
      throw new Error(`the variable ${part.name} was not put in`);
  }
}

function headerOf(headers: Run["headers"], name: string): string {
  const wanted = name.toLowerCase();
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== wanted || value === undefined) continue;
    return Array.isArray(value) ? value.join(", ") : value;
  }
  throw new Refusal(`This needs the header "${name}" of the client's own HTTP request, which has none.`);
}

export function refuseNul(text: string, what: string): string {
  if (text.includes("\0")) throw new Refusal(`The ${what} contains a NUL character.`);
  return text;
}
