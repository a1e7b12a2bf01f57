// Required shape of the value of each JSON Schema keyword. The engine does not check them, so a malformed `required: true` must not reach it.

import { isObject } from "../model/index.ts";
import { isSchema } from "./keywords.ts";

export const TYPE_NAMES: ReadonlySet<string> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
// The rewritten copy converts the boolean form of draft-04 to the numeric one.
const isBound = (value: unknown): boolean => isNumber(value) || typeof value === "boolean";
const isCount = (value: unknown): boolean => isNumber(value) && (value as number) >= 0;
const isList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
const isReference = (value: unknown): boolean =>
  typeof value === "string" && URL.canParse(value, "https://schema.invalid/");
const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const never = (): boolean => false;

const SHAPES: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  [
    "type",
    (value: unknown) =>
      (Array.isArray(value) && value.length > 0 ? value : [value]).every((name) =>
        TYPE_NAMES.has(name as string),
      ),
  ],
  // An empty enum would reject every value, which is never intended.
  ["enum", isList],
  ["const", () => true],
  ["required", isNames],
  ["dependentRequired", (value: unknown) => isObject(value) && Object.values(value).every(isNames)],
  ...shapes(isNumber, "minimum maximum"),
  ...shapes(isBound, "exclusiveMinimum exclusiveMaximum"),
  ["multipleOf", (value: unknown) => isNumber(value) && (value as number) > 0],
  ...shapes(
    isCount,
    "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
  ),
  ...shapes(isFlag, "uniqueItems $recursiveAnchor"),
  ...shapes(isText, "pattern"),
  ...shapes(isList, "anyOf oneOf"),
  ...shapes(Array.isArray, "allOf prefixItems"),
  ["items", (value: unknown) => Array.isArray(value) || isSchema(value)],
  ...shapes(
    isSchema,
    "not if then else contains propertyNames additionalItems unevaluatedItems additionalProperties unevaluatedProperties",
  ),
  ...shapes(isObject, "properties patternProperties dependentSchemas dependencies $defs definitions"),
  ...shapes(isReference, "$ref $id"),
  ["$anchor", isText],
  ["$recursiveRef", (value: unknown) => value === "#"],
  // The engine does not evaluate this keyword.
  ["$dynamicRef", never],
]);

/** Returns "unknown" for a keyword that JSON Schema does not define. It counts as an annotation. */
export function isWellFormed(keyword: string, value: unknown): boolean | "unknown" {
  const shape = SHAPES.get(keyword);
  return shape === undefined ? "unknown" : shape(value);
}

function shapes(
  shape: (value: unknown) => boolean,
  keywords: string,
): [string, (value: unknown) => boolean][] {
  return keywords.split(" ").map((keyword) => [keyword, shape]);
}
