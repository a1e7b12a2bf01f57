// The JSON Schemas of the files, made of their shapes; what a shape cannot say is put in by hand.

import { isObject } from "../../model/index.ts";
import { type ObjectShape, type SchemaObject, toJsonSchema } from "../document/index.ts";
import { BINDING_FIELDS, DRIVER_SHAPE } from "./driver-shape.ts";
import { INSTALL_VARIANTS } from "./install.ts";
import { bindingMetadata, MCP_SHAPE } from "./mcp-shape.ts";
import { publicSchemas } from "./public-schemas.ts";
import { EXPOSURES, GRANTS, SECRETS_SHAPE } from "./secrets-shape.ts";
import { TOOL_SHAPE } from "./tool-shape.ts";

/** By the name of the file in schemas/: those of the frontmatters, and those that contracts may refer to. */
export function driverSchemas(): Readonly<Record<string, SchemaObject>> {
  return {
    "driver.schema.json": withTransports(toJsonSchema(editorShape(), "DRIVER.md of kind mcp")),
    "tool.schema.json": withApproval(toJsonSchema(TOOL_SHAPE, "TOOL.md")),
    "secrets.schema.json": patch(toJsonSchema(secretsShape(), "SECRETS.md")) as SchemaObject,
    ...publicSchemas(),
  };
}

function editorShape(): ObjectShape {
  const fields = { ...DRIVER_SHAPE.fields, ...MCP_SHAPE.fields };
  return {
    ...DRIVER_SHAPE,
    fields: {
      ...fields,
      kind: { type: "string", required: true, enum: ["mcp"], description: "what kind of driver it is" },
      implements: {
        type: "list",
        required: true,
        filled: true,
        items: { type: "object", fields: { ...BINDING_FIELDS, metadata: bindingMetadata() } },
        description: "the contracts that it serves",
      },
      install: {
        type: "list",
        items: INSTALL_VARIANTS,
        description: "How the program is installed, in order of preference.",
      },
    },
  };
}

/** Which kinds of server go with which transport, and what an integration needs. */
function withTransports(schema: SchemaObject): SchemaObject {
  const server = (kind: string): SchemaObject => ({
    properties: { server: { required: ["kind"], properties: { kind: { const: kind } } } },
    required: ["server"],
  });
  const rule = (kind: string, transports: readonly string[]): SchemaObject => ({
    if: server(kind),
    then: { properties: { transport: { enum: transports } } },
  });
  const rules = [
    rule("binary", ["stdio"]),
    rule("npm", ["stdio"]),
    rule("docker", ["stdio", "http", "streamable-http"]),
    rule("remote", ["sse", "http", "streamable-http"]),
  ];
  return { ...(patch(schema) as SchemaObject), allOf: rules };
}

/** What changes something needs somebody's leave. */
function withApproval(schema: SchemaObject): SchemaObject {
  return {
    ...schema,
    if: { required: ["mutates"], properties: { mutates: { type: "array", minItems: 1 } } },
    then: { required: ["approval"], properties: { approval: { not: { const: "auto" } } } },
  };
}

function secretsShape(): ObjectShape {
  const { secrets } = SECRETS_SHAPE.fields;
  if (secrets?.type !== "list" || secrets.items.type !== "object") return SECRETS_SHAPE;
  const { exposures } = secrets.items.fields;
  if (exposures?.type !== "list") return SECRETS_SHAPE;
  const variants = { ...exposures, items: { type: "union" as const, options: Object.values(EXPOSURES) } };
  const entry = { ...secrets.items, fields: { ...secrets.items.fields, exposures: variants } };
  return { ...SECRETS_SHAPE, fields: { secrets: { ...secrets, items: entry } } };
}

/** Puts in that a grant has exactly one key, and what an integration of a prompt or a resource needs. */
function patch(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(patch);
  if (!isObject(value)) return value;
  const entries = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, patch(inner)]));
  const { properties } = value;
  if (!isObject(properties)) return entries;
  if (GRANTS.every((name) => name in properties)) return { ...entries, minProperties: 1, maxProperties: 1 };
  if ("skill_ref" in properties) return { ...entries, ...needs("skill_block", "skill_ref") };
  if ("ref_kind_id" in properties) return { ...entries, ...needs("ref_kind", "ref_kind_id") };
  return entries;
}

function needs(integration: string, field: string): SchemaObject {
  return { if: { properties: { integrate_as: { const: integration } } }, then: { required: [field] } };
}
