// JSON Schemas of mcpfiles for editors, by version of the format.

import { SANDBOX } from "../../manifest/index.ts";
import { type JsonSchemaObject, toJsonSchemaDocument } from "../../schema-builder/index.ts";
import { CONFIG, createFormat, JSON_SCHEMA_REFERENCE } from "./file-schema.ts";
import type { Version } from "./versions.ts";

/** By file name in `schemas/`. */
export function mcpfileSchemas(): Readonly<Record<string, JsonSchemaObject>> {
  return {
    "mcpfile-0.0.1.schema.json": fileSchema("0.0.1", FIRST),
    "mcpfile-0.1.schema.json": fileSchema("0.1", LATER),
    "mcpfile-0.2.schema.json": fileSchema("0.2", LATER),
    "mcpserver-0.2.schema.json": toJsonSchemaDocument(CONFIG, "mcpserver 0.2"),
  };
}

function fileSchema(version: Version, jsonSchema: JsonSchemaObject): JsonSchemaObject {
  const { file, serversFile } = createFormat(version);
  return {
    ...toJsonSchemaDocument(version === "0.0.1" ? serversFile : file, `mcpfile ${version}`),
    $defs: { JsonSchema: jsonSchema, Sandbox: SANDBOX.toJsonSchema() },
  };
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
const KEYWORDS = {
  description: { type: "string", description: "Description for people and models." },
  properties: {
    type: "object",
    additionalProperties: JSON_SCHEMA_REFERENCE,
    description: "Properties of the object, by name.",
  },
  required: { type: "array", items: { type: "string" }, description: "Names of required properties." },
};

/** A JSON Schema as the text of 0.0.1 has it. The reader accepts other keywords as well. */
const FIRST: JsonSchemaObject = {
  type: "object",
  properties: {
    type: { enum: [...TYPES, null], description: "Type of the value." },
    ...KEYWORDS,
    items: { ...JSON_SCHEMA_REFERENCE, description: "Schema of the items of an array." },
    additionalProperties: {
      type: ["boolean", "object"],
      description: "Whether other properties are allowed, or their schema.",
    },
  },
};

const LATER: JsonSchemaObject = {
  type: ["object", "boolean"],
  properties: {
    type: {
      anyOf: [{ enum: [...TYPES, null] }, { type: "array", items: { enum: TYPES } }],
      description: "Type of the value, or a list of possible types.",
    },
    ...KEYWORDS,
  },
};
