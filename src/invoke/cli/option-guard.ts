// Guard against option injection: an argument that begins with "-" is refused unless the schema allows it explicitly.

import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import { ArgumentError, describeArgument } from "../values.ts";

/** A pattern that explicitly allows "-" as the first character. */
const ALLOWS_DASH = /^\^(?:\((?:\?:)?)?\[?\\?-/;

/** `word` begins with a value of the caller. `path` is undefined when the value comes from a header. */
export function refuseDash(word: string, path: readonly string[] | undefined, schema: JsonSchema): void {
  if (!word.startsWith("-")) return;
  if (path !== undefined && allowsDash(schemaAt(schema, path), word)) return;
  const what = path === undefined ? "header" : describeArgument(path);
  throw new ArgumentError(
    `The ${what} must not begin with "-", because the program would take it for an option.${
      path === undefined
        ? ""
        : ' To allow it, the inputSchema in the mcpfile must have an enum with this value, or a pattern that begins with "^-".'
    }`,
  );
}

function allowsDash(schema: JsonObject | undefined, word: string): boolean {
  if (schema === undefined) return false;
  if (schema.const === word || (Array.isArray(schema.enum) && schema.enum.includes(word))) return true;
  if (typeof schema.pattern === "string" && ALLOWS_DASH.test(schema.pattern)) return true;
  // Each item of a list becomes a word of its own.
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
