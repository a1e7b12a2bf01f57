// A schema that says nothing about further properties, read as one that has none.

import type { JsonSchema } from "../model/index.ts";
import { dialectOf } from "./dialect.ts";

/** Keywords by which a schema takes properties from elsewhere. */
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

/** Names that `patternProperties` allows stay allowed. Where a dialect has no word for it, the schema stays as it is. */
export function closedSchema(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return schema;
  if (!ELSEWHERE.some((keyword) => schema[keyword] !== undefined))
    return { ...schema, additionalProperties: false };
  const dialect = dialectOf(schema);
  return dialect === "2019-09" || dialect === "2020-12"
    ? { ...schema, unevaluatedProperties: false }
    : schema;
}
