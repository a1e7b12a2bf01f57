// Schemas of whole mcpfiles, by version of the format.

import type { PromptArgument, ToolAnnotations } from "../../../model/index.ts";
import { definedOnly, SANDBOX } from "../../manifest/index.ts";
import {
  anyValue,
  flag,
  integer,
  type JsonSchemaObject,
  list,
  map,
  object,
  oneOf,
  partialObject,
  text,
  type Value,
  without,
} from "../../schema-builder/index.ts";
import { createInvocationSchemas, SANDBOX_REFERENCE } from "./invocation-schema.ts";
import { CAMEL_CASE, RUNTIME } from "./runtime-schema.ts";
import { FILE_VERSIONS, KINDS, SCHEMA_VERSIONS, type Version } from "./versions.ts";

/** For editors, the schema of a JSON Schema stands once in the file. */
export const JSON_SCHEMA_REFERENCE = { $ref: "#/$defs/JsonSchema" };

/** A JSON Schema in the file. It is checked later, by the rules of JSON Schema. */
const jsonSchema = (description: string, type: JsonSchemaObject) =>
  map(description, anyValue())
    .withJsonSchema(() => ({ type: "object", allOf: [JSON_SCHEMA_REFERENCE], properties: { type } }))
    .deferred();

const NAME = text("Unique name.").required();
const TITLE = text("Display name.", { empty: true });

const ANNOTATIONS = object(
  "MCP annotations of the tool: hints for clients.",
  {
    title: TITLE,
    readOnlyHint: flag("If true, the tool does not change anything."),
    destructiveHint: flag("If true, the tool can delete or overwrite data."),
    idempotentHint: flag("If true, repeating a call with the same arguments has no additional effect."),
    openWorldHint: flag("If true, the tool interacts with external systems."),
  },
  CAMEL_CASE,
).transform((annotations) => definedOnly<ToolAnnotations>(annotations));

const ARGUMENT = object(
  "",
  {
    name: NAME,
    title: TITLE,
    description: text("Description of the argument.", { empty: true }),
    required: flag("If true, clients must provide the argument.").default(false),
  },
  CAMEL_CASE,
).transform((argument) => definedOnly<PromptArgument>(argument));

export type Primitive = "tools" | "prompts" | "resources" | "resourceTemplates";

function primitiveFields(version: Version) {
  const inputSchema = jsonSchema("JSON Schema of the arguments. Its type must be object.", {
    const: "object",
  });
  const { invocation } = createInvocationSchemas(version);
  return {
    name: NAME,
    title: TITLE,
    description: text("Description for the model.").required(),
    arguments: list("Arguments of the prompt, as clients show them.", ARGUMENT),
    uri: text("URI of the resource.").required(),
    size: integer("Size of the resource in bytes.", { minimum: 0 }),
    uriTemplate: text("URI template (RFC 6570). Its variables must be properties of inputSchema.").required(),
    mimeType: text("MIME type of the content."),
    inputSchema: version === "0.0.1" ? inputSchema.required() : inputSchema,
    outputSchema: jsonSchema("JSON Schema of the structured result.", { enum: ["object", "array"] }),
    invocation: invocation.deferred(),
    requiredScopes: list(
      "OAuth scopes that the token of the caller must have.",
      text("", { pattern: "^\\S+$" }),
    ),
    annotations: ANNOTATIONS,
  };
}

/** Tools, and from 0.1 on prompts and resources: everything that has an invocation. */
function createPrimitives(version: Version) {
  const fields = primitiveFields(version);
  const toolOnly = version === "0.0.1" ? (["annotations"] as const) : [];
  return {
    tools: partialObject(
      "",
      without(fields, "arguments", "uri", "size", "uriTemplate", "mimeType", ...toolOnly),
      CAMEL_CASE,
    ),
    prompts: partialObject(
      "",
      without(fields, "uri", "size", "uriTemplate", "mimeType", "annotations"),
      CAMEL_CASE,
    ),
    resources: partialObject("", without(fields, "arguments", "uriTemplate", "annotations"), CAMEL_CASE),
    resourceTemplates: partialObject(
      "",
      without(fields, "arguments", "uri", "size", "annotations"),
      CAMEL_CASE,
    ),
  };
}

export type PrimitiveValue = Value<ReturnType<typeof createPrimitives>["tools"]>;

/** Tools and bases are read one by one, so that a wrong one leaves out only itself. */
function createServerFields(version: Version) {
  const invocations = createInvocationSchemas(version);
  const primitives = createPrimitives(version);
  return {
    name: text("Name of the server.").required(),
    version: text("Version of the server, as a semantic version such as 1.0.0.", {
      scalars: true,
    }).required(),
    runtime: RUNTIME,
    sandbox: SANDBOX.describe(
      "Sandbox of all commands of this server. A command can restrict it further. Portolan extension.",
    ).withJsonSchema(() => SANDBOX_REFERENCE),
    tools: list("Tools of the server.", primitives.tools).deferred(),
    instructions: text("MCP instructions of the server: how a model should use it.", { empty: true }),
    invocationBases: map(
      "Base invocations that other invocations extend, by name.",
      invocations.base,
    ).deferred(),
    prompts: list("Prompts of the server.", primitives.prompts).deferred(),
    resources: list("Resources of the server.", primitives.resources).deferred(),
    resourceTemplates: list("Resource templates of the server.", primitives.resourceTemplates).deferred(),
  };
}

const LATER = ["instructions", "invocationBases", "prompts", "resources", "resourceTemplates"] as const;

const fileVersion = <const V extends string>(versions: readonly V[]) =>
  oneOf("Version of the file format.", versions, { scalars: true }).required();

/** All schemas of one version of the format. */
export function createFormat(version: Version) {
  const all = createServerFields(version);
  const fields =
    version === "0.0.1" ? without(all, ...LATER) : version === "0.2" ? without(all, "runtime") : all;
  const server = partialObject("Server and its tools.", fields, CAMEL_CASE);
  const head = version === "0.2" ? TOOLS_HEAD : { mcpFileVersion: fileVersion(FILE_VERSIONS.slice(1)) };
  return {
    ...createInvocationSchemas(version),
    primitives: createPrimitives(version),
    server,
    /** From 0.1 on, a file is one server. The fields of its head are checked, but not used. */
    file: partialObject(
      "mcpfile: an MCP server whose tools are HTTP requests and commands.",
      { ...head, ...fields },
      CAMEL_CASE,
    ) as typeof server,
    /** A file of 0.0.1 is a list of servers. */
    serversFile: partialObject(
      "mcpfile: MCP servers whose tools are HTTP requests and commands.",
      {
        mcpFileVersion: fileVersion(["0.0.1"]),
        servers: list("MCP servers of this file.", server).deferred(),
      },
      CAMEL_CASE,
    ),
  };
}

const TOOLS_HEAD = {
  kind: oneOf("Kind of the file: tool definitions.", [KINDS.tools]).required(),
  schemaVersion: fileVersion(SCHEMA_VERSIONS),
};

export type McpfileFormat = ReturnType<typeof createFormat>;

export const CONFIG = partialObject(
  "Server settings of an mcpfile.",
  {
    kind: oneOf("Kind of the file: server settings.", [KINDS.config]).required(),
    schemaVersion: fileVersion(SCHEMA_VERSIONS),
    runtime: RUNTIME,
  },
  CAMEL_CASE,
);
