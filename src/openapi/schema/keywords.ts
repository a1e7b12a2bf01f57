// Keywords of schemas: those that are kept, with a check of their values, and the conversion of those that only Swagger 2 and
// OpenAPI 3.0 have. All other keywords are left out, because JSON Schema does not define them.

import { isObject, type JsonObject } from "../../model/index.ts";
import type { Schema } from "../types.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const isString = (value: unknown): boolean => typeof value === "string";
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isWords = (value: unknown): boolean => Array.isArray(value) && value.every(isString);
const isAnything = (): boolean => true;

/** Keywords whose values are not schemas, each with its check: a value of the wrong kind would break the whole schema. */
export const VALUES: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["type", isType],
  ["title", isString],
  ["description", isString],
  ["format", isString],
  ["enum", (value) => Array.isArray(value) && value.length > 0],
  ["const", isAnything],
  ["default", isAnything],
  ["examples", (value) => Array.isArray(value) && isShort(value)],
  ["deprecated", isBoolean],
  ["multipleOf", (value) => isNumber(value) && (value as number) > 0],
  ["minimum", isNumber],
  ["maximum", isNumber],
  ["exclusiveMinimum", isNumber],
  ["exclusiveMaximum", isNumber],
  ["minLength", isCount],
  ["maxLength", isCount],
  ["pattern", isPattern],
  ["minItems", isCount],
  ["maxItems", isCount],
  ["uniqueItems", isBoolean],
  ["minContains", isCount],
  ["maxContains", isCount],
  ["minProperties", isCount],
  ["maxProperties", isCount],
  ["required", isWords],
  ["dependentRequired", (value) => isObject(value) && Object.values(value).every(isWords)],
  ["contentEncoding", isString],
  ["contentMediaType", isString],
]);

export const ONE_SCHEMA: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

export const SCHEMA_LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
export const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
]);

/** Keywords whose schemas apply to the same value; a cycle of only these would never end. */
export const SAME_VALUE: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
]);

/** Short examples help a model; long ones only cost tokens. */
function isShort(value: unknown): boolean {
  return (JSON.stringify(value) ?? "").length <= 200;
}

function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    return new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function isType(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && new Set(value).size === value.length && value.every((one) => TYPES.has(one));
  return TYPES.has(value);
}

/** `exclusiveMinimum: true` beside `minimum` is a number in JSON Schema. */
export function moveExclusive(source: JsonObject, schema: JsonObject): void {
  for (const [limit, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (source[exclusive] !== true || typeof schema[limit] !== "number") continue;
    schema[exclusive] = schema[limit];
    delete schema[limit];
  }
}

/** `example` is the list `examples` in JSON Schema. */
export function moveExample(source: JsonObject, schema: JsonObject): void {
  if (source.example !== undefined && schema.examples === undefined && isShort(source.example))
    schema.examples = [source.example];
}

export function isNullable(source: JsonObject): boolean {
  return source.nullable === true || source["x-nullable"] === true;
}

/** The same schema, which accepts null as well. */
export function withNull(schema: JsonObject): Schema {
  if (Object.keys(schema).length === 0) return schema;
  if (typeof schema.type === "string" || Array.isArray(schema.type)) {
    const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
    const nullable: JsonObject = { ...schema, type: types.includes("null") ? types : [...types, "null"] };
    // Strictly, `enum` would have to list null itself, but authors who write `nullable` mean that null is accepted.
    if (Array.isArray(schema.enum) && !schema.enum.includes(null)) nullable.enum = [...schema.enum, null];
    return nullable;
  }
  return { anyOf: [schema, { type: "null" }] };
}
