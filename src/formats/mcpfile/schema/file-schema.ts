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

const NAME = text("its name").required();
const TITLE = text("A title for people.", { empty: true });

const ANNOTATIONS = object(
  "What clients may expect of the tool.",
  {
    title: TITLE,
    readOnlyHint: flag("It changes nothing."),
    destructiveHint: flag("It may destroy something."),
    idempotentHint: flag("Calling it twice is as good as once."),
    openWorldHint: flag("It reaches things outside of the server."),
  },
  CAMEL_CASE,
).transform((annotations) => definedOnly<ToolAnnotations>(annotations));

const ARGUMENT = object(
  "",
  {
    name: NAME,
    title: TITLE,
    description: text("What it is.", { empty: true }),
    required: flag("It must be given.").default(false),
  },
  CAMEL_CASE,
).transform((argument) => definedOnly<PromptArgument>(argument));

export type Primitive = "tools" | "prompts" | "resources" | "resourceTemplates";

function primitiveFields(version: Version) {
  const inputSchema = jsonSchema("the arguments that it takes", { const: "object" });
  const { invocation } = createInvocationSchemas(version);
  return {
    name: NAME,
    title: TITLE,
    description: text("what it does, for the model").required(),
    arguments: list("What it takes, for people.", ARGUMENT),
    uri: text("its address").required(),
    size: integer("Its size in bytes.", { minimum: 0 }),
    uriTemplate: text("its URI template, as in RFC 6570").required(),
    mimeType: text("The type of its content."),
    inputSchema: version === "0.0.1" ? inputSchema.required() : inputSchema,
    outputSchema: jsonSchema("The structure of its result.", { enum: ["object", "array"] }),
    invocation: invocation.deferred(),
    requiredScopes: list("Scopes that a caller's token must have.", text("", { pattern: "^\\S+$" })),
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
    name: text("the name of the server").required(),
    version: text("the version of its tools, such as 1.0.0", { scalars: true }).required(),
    runtime: RUNTIME,
    sandbox: SANDBOX.describe(
      "What its commands may touch; a command may narrow it. Portolan's own.",
    ).withJsonSchema(() => SANDBOX_REFERENCE),
    tools: list("What it can do.", primitives.tools).deferred(),
    instructions: text("How it is meant to be used, for the model.", { empty: true }),
    invocationBases: map("Invocations that others extend, by name.", invocations.base).deferred(),
    prompts: list("Prompts that it has.", primitives.prompts).deferred(),
    resources: list("Resources that it has.", primitives.resources).deferred(),
    resourceTemplates: list("Resources with a URI template.", primitives.resourceTemplates).deferred(),
  };
}

const LATER = ["instructions", "invocationBases", "prompts", "resources", "resourceTemplates"] as const;

const fileVersion = <const V extends string>(versions: readonly V[]) =>
  oneOf("the version of this format", versions, { scalars: true }).required();

/** All schemas of one version of the format. */
export function createFormat(version: Version) {
  const all = createServerFields(version);
  const fields =
    version === "0.0.1" ? without(all, ...LATER) : version === "0.2" ? without(all, "runtime") : all;
  const server = partialObject("A server and its tools.", fields, CAMEL_CASE);
  const head = version === "0.2" ? TOOLS_HEAD : { mcpFileVersion: fileVersion(FILE_VERSIONS.slice(1)) };
  return {
    ...createInvocationSchemas(version),
    primitives: createPrimitives(version),
    server,
    /** From 0.1 on, a file is one server. The fields of its head are checked, but not used. */
    file: partialObject(
      "An mcpfile: a server whose tools are HTTP requests and commands.",
      { ...head, ...fields },
      CAMEL_CASE,
    ) as typeof server,
    /** A file of 0.0.1 is a list of servers. */
    serversFile: partialObject(
      "An mcpfile: servers whose tools are HTTP requests and commands.",
      {
        mcpFileVersion: fileVersion(["0.0.1"]),
        servers: list("The servers of this file.", server).deferred(),
      },
      CAMEL_CASE,
    ),
  };
}

const TOOLS_HEAD = {
  kind: oneOf("what this file is", [KINDS.tools]).required(),
  schemaVersion: fileVersion(SCHEMA_VERSIONS),
};

export type McpfileFormat = ReturnType<typeof createFormat>;

export const CONFIG = partialObject(
  "How the server of an mcpfile is served.",
  {
    kind: oneOf("what this file is", [KINDS.config]).required(),
    schemaVersion: fileVersion(SCHEMA_VERSIONS),
    runtime: RUNTIME,
  },
  CAMEL_CASE,
);
