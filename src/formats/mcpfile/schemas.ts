// The JSON Schemas of mcpfiles, for editors: those of the shapes, with what a shape cannot say put in.

import { isObject } from "../../model/index.ts";
import { SANDBOX } from "../manifest/index.ts";
import { type SchemaObject, toJsonSchema } from "../document/index.ts";
import { CONFIG_SHAPE, fileShape } from "./shapes.ts";

/** By file name in `schemas/`. */
export function mcpfileSchemas(): Readonly<Record<string, SchemaObject>> {
  return {
    "mcpfile-0.0.1.schema.json": finished(toJsonSchema(fileShape("0.0.1"), "mcpfile 0.0.1"), FIRST),
    "mcpfile-0.1.schema.json": finished(toJsonSchema(fileShape("0.1"), "mcpfile 0.1"), LATER),
    "mcpfile-0.2.schema.json": finished(toJsonSchema(fileShape("0.2"), "mcpfile 0.2"), LATER),
    "mcpserver-0.2.schema.json": finished(toJsonSchema(CONFIG_SHAPE, "mcpserver 0.2")),
  };
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
const SELF = { $ref: "#/$defs/JsonSchema" };
const KEYWORDS = {
  description: { type: "string", description: "What it is, for people and models." },
  properties: { type: "object", additionalProperties: SELF, description: "The properties of an object." },
  required: { type: "array", items: { type: "string" }, description: "Properties that must be there." },
};

/** As the text of 0.0.1 has it; other keywords of JSON Schema are read as well. */
const FIRST: SchemaObject = {
  type: "object",
  properties: {
    type: { enum: [...TYPES, null], description: "The type of the value." },
    ...KEYWORDS,
    items: { ...SELF, description: "The items of a list." },
    additionalProperties: {
      type: ["boolean", "object"],
      description: "Whether there may be other properties.",
    },
  },
};

const LATER: SchemaObject = {
  type: ["object", "boolean"],
  properties: {
    type: {
      anyOf: [{ enum: [...TYPES, null] }, { type: "array", items: { enum: TYPES } }],
      description: "The type of the value, or several.",
    },
    ...KEYWORDS,
  },
};

const ROOT_OF_SCHEMA = { type: "object", allOf: [SELF], properties: { type: { const: "object" } } };
const ROOT_OF_RESULT = { ...ROOT_OF_SCHEMA, properties: { type: { enum: ["object", "array"] } } };

function finished(schema: SchemaObject, jsonSchema?: SchemaObject): SchemaObject {
  const patched = patch(schema) as SchemaObject;
  return jsonSchema === undefined
    ? patched
    : { ...patched, $defs: { JsonSchema: jsonSchema, Sandbox: SANDBOX.toJsonSchema() } };
}

/** Puts in schemas of schemas, and that an invocation has exactly one key. */
function patch(value: unknown, name?: string): unknown {
  if (Array.isArray(value)) return value.map((item) => patch(item));
  if (!isObject(value)) return value;
  const { description } = value;
  if (name === "inputSchema") return { description, ...ROOT_OF_SCHEMA };
  if (name === "outputSchema") return { description, ...ROOT_OF_RESULT };
  if (name === "sandbox") return { description, $ref: "#/$defs/Sandbox" };
  if (name === "initialFields") return { description, type: "object" };
  if (name === "extend" || name === "override" || name === "remove") return { description, type: "object" };
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    if (key !== "properties" || !isObject(inner)) return [key, patch(inner)];
    return [key, Object.fromEntries(Object.entries(inner).map(([field, of]) => [field, patch(of, field)]))];
  });
  const one = isInvocation(value) ? { minProperties: 1, maxProperties: 1 } : {};
  return { ...Object.fromEntries(entries), ...one };
}

function isInvocation({ properties }: SchemaObject): boolean {
  return isObject(properties) && isObject(properties.http) && isObject(properties.cli);
}
