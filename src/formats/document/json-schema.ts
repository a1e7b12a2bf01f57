// The JSON Schema of a shape, for editors that complete and check declarations while they are written.

import { DURATION_PATTERN } from "./duration.ts";
import { SIZE_PATTERN } from "./size.ts";
import type { ObjectShape, Shape, StringShape } from "./shape.ts";

export type SchemaObject = { [key: string]: unknown };

export function toJsonSchema(shape: ObjectShape, title: string): SchemaObject {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title, ...convert(shape) };
}

function convert(shape: Shape): SchemaObject {
  if (shape.type === "built")
    return shape.description === undefined
      ? shape.schema.toJsonSchema()
      : shape.schema.describe(shape.description).toJsonSchema();
  const about: SchemaObject = {};
  if (shape.description !== undefined) about.description = shape.description;
  if (shape.default !== undefined) about.default = shape.default;
  return { ...about, ...body(shape) };
}

function body(shape: Shape): SchemaObject {
  switch (shape.type) {
    case "string":
      return stringBody(shape);
    case "number":
      return {
        ...(shape.oneOf === undefined
          ? { type: shape.integer === true ? "integer" : "number" }
          : { enum: shape.oneOf }),
        ...(shape.minimum === undefined ? {} : { minimum: shape.minimum }),
        ...(shape.maximum === undefined ? {} : { maximum: shape.maximum }),
      };
    case "boolean":
      return { type: "boolean" };
    case "duration":
      return { type: ["number", "string"], minimum: 0, pattern: DURATION_PATTERN };
    case "size":
      return { type: ["number", "string"], minimum: 1, pattern: SIZE_PATTERN };
    case "list":
      return {
        type: "array",
        items: convert(shape.items),
        ...(shape.unique === true ? { uniqueItems: true } : {}),
        ...(shape.filled === true ? { minItems: 1 } : {}),
      };
    case "map":
      return {
        type: "object",
        ...(shape.keyPattern === undefined ? {} : { propertyNames: { pattern: shape.keyPattern } }),
        additionalProperties: convert(shape.values),
      };
    case "object":
      return objectBody(shape);
    case "any":
    case "built":
      return {};
    case "union":
      return { anyOf: shape.options.map(convert) };
  }
}

function stringBody(shape: StringShape): SchemaObject {
  if (shape.enum !== undefined) return { enum: [...shape.enum, ...Object.keys(shape.synonyms ?? {})] };
  return {
    type: shape.scalars === true ? ["string", "number", "boolean"] : "string",
    ...(shape.empty === true ? {} : { minLength: 1 }),
    ...(shape.maxLength === undefined ? {} : { maxLength: shape.maxLength }),
    ...(shape.pattern === undefined ? {} : { pattern: shape.pattern }),
  };
}

function objectBody(shape: ObjectShape): SchemaObject {
  const properties: SchemaObject = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(shape.fields)) {
    properties[name] = convert(field);
    for (const other of field.aliases ?? [])
      properties[other] = { ...convert(field), description: `The same as ${name}.` };
    if (field.required === true && field.aliases === undefined) required.push(name);
  }
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(shape.open === true ? {} : { patternProperties: { "^x-": {} }, additionalProperties: false }),
  };
}
