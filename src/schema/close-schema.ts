// Closes a schema: unless it says otherwise, additional properties are refused.

import type { JsonSchema } from "../model/index.ts";
import { dialectOf } from "./keywords.ts";

/** Keywords that add properties from other schemas. */
const ELSEWHERE = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "dependencies",
];

/** Names that `patternProperties` allows stay allowed. In dialects without `unevaluatedProperties`, such a schema stays unchanged. */
export function closedSchema(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return schema;
  if (!ELSEWHERE.some((keyword) => schema[keyword] !== undefined))
    return { ...schema, additionalProperties: false };
  const dialect = dialectOf(schema);
  return dialect === "2019-09" || dialect === "2020-12"
    ? { ...schema, unevaluatedProperties: false }
    : schema;
}
