// What Swagger 2 and OpenAPI 3.0 say in words of their own, in the words of JSON Schema.

import type { JsonObject } from "../../model/index.ts";
import { isShort } from "./keywords.ts";
import type { Schema } from "../types.ts";

/** `true` beside `minimum` became a number of its own. */
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

/** `example` became a list. */
export function moveExample(source: JsonObject, schema: JsonObject): void {
  if (source.example !== undefined && schema.examples === undefined && isShort(source.example))
    schema.examples = [source.example];
}

export function isNullable(source: JsonObject): boolean {
  return source.nullable === true || source["x-nullable"] === true;
}

/** The same schema, for which null is right too. */
export function withNull(schema: JsonObject): Schema {
  if (Object.keys(schema).length === 0) return schema;
  if (typeof schema.type === "string" || Array.isArray(schema.type)) {
    const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
    const nullable: JsonObject = { ...schema, type: types.includes("null") ? types : [...types, "null"] };
    // Authors who write `nullable` mean it, though strictly the list would have to name null.
    if (Array.isArray(schema.enum) && !schema.enum.includes(null)) nullable.enum = [...schema.enum, null];
    return nullable;
  }
  return { anyOf: [schema, { type: "null" }] };
}
