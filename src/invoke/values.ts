// Values of a call: found by their path, written as text, or refused with an `ArgumentError`.

import { isObject, type JsonObject, type TemplatePart } from "../model/index.ts";
import type { Run } from "./types.ts";

/** An argument that must not be used as it is. The message goes to the caller. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/** The name of an argument in messages, spelled as the caller wrote it. */
export function describeArgument(path: readonly string[]): string {
  return `argument "${path.join(".").slice(0, 100)}"`;
}

/** A place in a template that a call fills. */
export type Placeholder = Exclude<TemplatePart, { kind: "text" }>;

/** The value at a path. Undefined when it is absent; null counts as absent wherever values become text. */
export function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const step of path) {
    // Inherited properties, such as "constructor", are not arguments.
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

export function describePlaceholder(part: Placeholder): string {
  return part.kind === "input" ? describeArgument(part.path) : `${part.kind} "${part.name}"`;
}

/** The value for a placeholder; undefined when an optional argument is absent. */
export function fillPlaceholder(part: Placeholder, run: Pick<Run, "args" | "headers">): unknown {
  switch (part.kind) {
    case "input":
      return valueAt(run.args, part.path);
    case "header":
      return headerOf(run.headers, part.name);
    case "env":
      // Opening the server replaces every variable, so one that is left is a bug of this program.
      throw new Error(`the variable ${part.name} was not replaced`);
  }
}

function headerOf(headers: Run["headers"], name: string): string {
  const wanted = name.toLowerCase();
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() !== wanted || value === undefined) continue;
    return Array.isArray(value) ? value.join(", ") : value;
  }
  throw new ArgumentError(
    `The header "${name}" is missing: this tool needs it from the HTTP request of the client.`,
  );
}

export function refuseNul(text: string, what: string): string {
  if (text.includes("\0")) throw new ArgumentError(`The ${what} contains a NUL character.`);
  return text;
}
