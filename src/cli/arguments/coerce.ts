// Converts one value typed at a shell to the type that the schema of its property requires.

import { didYouMean } from "../../errors/index.ts";
import type { JsonSchema } from "../../model/index.ts";
import { branchesOf, enumOf, resolveSchema, type SchemaType, typesOf } from "./json-schema.ts";

export type Coerced =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly problem: string };

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Converts text to a value. If the schema allows a string, text stays text, even "5"; otherwise it must match an allowed type.
 * If the schema names no type, text that parses as JSON is JSON.
 */
export function coerceText(text: string, schema: unknown, root: JsonSchema): Coerced {
  const resolved = resolveSchema(schema, root);
  const listed = resolved === undefined ? undefined : listedValues(resolved, root);
  if (listed !== undefined) return coerceListed(text, listed);
  const types = typesOf(schema, root);
  if (types === undefined) return { value: jsonOrText(text) };
  if (types.has("string")) return { value: text };
  let problem = `must be ${describeTypes(types)}`;
  for (const type of ["null", "boolean", "integer", "number", "array", "object"] as const) {
    if (!types.has(type)) continue;
    const coerced = coerceTo(type, text, resolved ?? {}, root);
    if (coerced.problem === undefined) return coerced;
    if (types.size === 1) problem = coerced.problem;
  }
  // The problem of an item already quotes it.
  return { problem: problem.includes(", got ") ? problem : `${problem}, got ${quoted(text)}` };
}

/** Converts several values of one key to the items of an array. */
export function coerceItems(texts: readonly string[], schema: unknown, root: JsonSchema): Coerced {
  const items = itemSchema(schema, root);
  const values: unknown[] = [];
  const problems: string[] = [];
  for (const text of texts) {
    const coerced = coerceText(text, items, root);
    if (coerced.problem === undefined) values.push(coerced.value);
    else problems.push(coerced.problem);
  }
  return problems.length > 0 ? { problem: problems.join("; ") } : { value: values };
}

/** `an integer or a boolean` */
export function describeTypes(types: ReadonlySet<SchemaType> | undefined): string {
  if (types === undefined) return "a value";
  const names: Record<SchemaType, string> = {
    string: "a string",
    number: "a number",
    integer: "an integer",
    boolean: "true or false",
    null: "null",
    array: "an array",
    object: "an object",
  };
  return [...types].map((type) => names[type]).join(" or ");
}

function coerceTo(
  type: Exclude<SchemaType, "string">,
  text: string,
  schema: JsonSchema,
  root: JsonSchema,
): Coerced {
  switch (type) {
    case "null":
      return text === "null" ? { value: null } : { problem: "must be null" };
    case "boolean":
      return text === "true" || text === "false"
        ? { value: text === "true" }
        : { problem: "must be true or false" };
    case "number":
      return DECIMAL.test(text) && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { problem: "must be a number" };
    case "integer": {
      const value = Number(text);
      if (!DECIMAL.test(text) || !Number.isInteger(value)) return { problem: "must be an integer" };
      return Number.isSafeInteger(value)
        ? { value }
        : {
            problem: "must be an integer between -2^53 and 2^53, because many programs round larger integers",
          };
    }
    case "array": {
      const parsed = parseJson(text);
      if (Array.isArray(parsed)) return { value: parsed };
      const item = text.trimStart().startsWith("[")
        ? { problem: "is not a JSON array" }
        : coerceText(text, itemSchema(schema, root), root);
      return item.problem === undefined ? { value: [item.value] } : item;
    }
    case "object": {
      const parsed = parseJson(text);
      const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
      return isObject ? { value: parsed } : { problem: "must be a JSON object" };
    }
  }
}

function itemSchema(schema: unknown, root: JsonSchema): unknown {
  const resolved = resolveSchema(schema, root);
  if (resolved === undefined) return {};
  const branches = branchesOf(resolved) ?? [resolved];
  for (const branch of branches) {
    const items = resolveSchema(branch, root)?.["items"];
    if (items !== undefined && !Array.isArray(items)) return items;
  }
  return {};
}

/** The values of an enumeration, including one written as a union of constants. */
function listedValues(schema: JsonSchema, root: JsonSchema): unknown[] | undefined {
  const own = enumOf(schema);
  if (own !== undefined) return own;
  const branches = branchesOf(schema);
  if (branches === undefined) return undefined;
  const values: unknown[] = [];
  for (const branch of branches.slice(0, 500)) {
    const resolved = resolveSchema(branch, root);
    const listed = resolved === undefined ? undefined : enumOf(resolved);
    if (listed === undefined) return undefined;
    values.push(...listed);
  }
  return values;
}

function coerceListed(text: string, values: readonly unknown[]): Coerced {
  if (values.includes(text)) return { value: text };
  const other = values.find((value) => typeof value !== "string" && JSON.stringify(value) === text);
  if (other !== undefined) return { value: other };
  const names = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const shown = names.slice(0, 12).join(", ") + (names.length > 12 ? ", …" : "");
  const near = didYouMean(text, names);
  return { problem: `must be one of ${shown}, got ${quoted(text)}${near === undefined ? "" : `. ${near}`}` };
}

function jsonOrText(text: string): unknown {
  const parsed = parseJson(text);
  return parsed === undefined ? text : parsed;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text);
}
