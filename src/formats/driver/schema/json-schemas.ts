// JSON Schemas for editors, from the schemas of the formats. Rules between fields are added here.

import { type JsonSchemaObject, toJsonSchemaDocument } from "../../schema-builder/index.ts";
import { MCP_DRIVER } from "./mcp-schema.ts";
import { publicSchemas } from "./public-schemas.ts";
import { SECRETS } from "./secrets-schema.ts";
import { TOOL } from "./tool-schema.ts";

/** By file name in schemas/: those of the frontmatters, and those that contracts may refer to. */
export function driverSchemas(): Readonly<Record<string, JsonSchemaObject>> {
  return {
    "driver.schema.json": {
      ...toJsonSchemaDocument(MCP_DRIVER, "DRIVER.md of kind mcp"),
      allOf: TRANSPORT_RULES,
    },
    "tool.schema.json": { ...toJsonSchemaDocument(TOOL, "TOOL.md"), ...APPROVAL_RULE },
    "secrets.schema.json": toJsonSchemaDocument(SECRETS, "SECRETS.md"),
    ...publicSchemas(),
  };
}

/** The transports that go with each kind of server. */
const TRANSPORT_RULES = Object.entries({
  binary: ["stdio"],
  npm: ["stdio"],
  docker: ["stdio", "http", "streamable-http"],
  remote: ["sse", "http", "streamable-http"],
}).map(([kind, transports]) => ({
  if: {
    properties: { server: { required: ["kind"], properties: { kind: { const: kind } } } },
    required: ["server"],
  },
  then: { properties: { transport: { enum: transports } } },
}));

/** A tool that changes something needs approval. */
const APPROVAL_RULE = {
  if: { required: ["mutates"], properties: { mutates: { type: "array", minItems: 1 } } },
  then: { required: ["approval"], properties: { approval: { not: { const: "auto" } } } },
};
