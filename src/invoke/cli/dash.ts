// A value that begins with "-" can be an option of the program that gets it. It may only where its author plainly meant it to.

import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import { named, Refusal } from "../refusal.ts";

/** A pattern whose first character may be, and says that it may be, a "-". */
const SAYS_DASH = /^\^(?:\((?:\?:)?)?\[?\\?-/;

/** `word` begins with what a caller gave. `path` is undefined when that is a header. */
export function refuseDash(word: string, path: readonly string[] | undefined, schema: JsonSchema): void {
  if (!word.startsWith("-")) return;
  if (path !== undefined && allowsDash(schemaAt(schema, path), word)) return;
  const what = path === undefined ? "header" : named(path);
  throw new Refusal(
    `The ${what} must not begin with "-", because the program would take it for an option. ` +
      `Where that is meant, give its schema an enum, or a pattern that begins with "^-".`,
  );
}

function allowsDash(schema: JsonObject | undefined, word: string): boolean {
  if (schema === undefined) return false;
  if (schema.const === word || (Array.isArray(schema.enum) && schema.enum.includes(word))) return true;
  if (typeof schema.pattern === "string" && SAYS_DASH.test(schema.pattern)) return true;
  // What a list holds is written word by word.
  return isObject(schema.items) && allowsDash(schema.items, word);
}

export function schemaAt(schema: JsonSchema, path: readonly string[]): JsonObject | undefined {
  let at: JsonObject | undefined = schema;
  for (const step of path) {
    const properties: unknown = at?.properties;
    const next: unknown =
      isObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
    if (!isObject(next)) return undefined;
    at = next;
  }
  return at;
}
