// Which words of a schema are kept, and what each may hold. Anything else is left out: it means nothing to JSON Schema.

import { isObject } from "../../model/index.ts";

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

/** Words whose values are not schemas, each with its check: a value of the wrong kind would break the whole schema. */
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

/** Words whose schemas look at the same value again; a circle of only these would never end. */
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

/** Examples help a model, long ones only cost. */
export function isShort(value: unknown): boolean {
  return (JSON.stringify(value) ?? "").length <= 200;
}

export function isPattern(value: unknown): boolean {
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
