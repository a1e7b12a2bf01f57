// The shapes of whole files, by version: for the checker and for the JSON Schemas that editors use.

import { SANDBOX } from "../manifest/index.ts";
import type { ObjectShape, Shape } from "../document/index.ts";
import { invocationShape } from "./shapes-invocation.ts";
import { RUNTIME_SHAPE } from "./shapes-runtime.ts";
import { FILE_VERSIONS, KINDS, SCHEMA_VERSIONS, type Version } from "./versions.ts";

/** A JSON Schema: its inside is checked apart, and written into the JSON Schema of the file by hand. */
const schema = (description: string, required = false): Shape => ({
  type: "map",
  values: { type: "string" },
  description,
  ...(required ? { required: true as const } : {}),
});

const NAME: Shape = { type: "string", required: true, description: "its name" };
const TITLE: Shape = { type: "string", empty: true, description: "A title for people." };
const MIME_TYPE: Shape = { type: "string", description: "The type of its content." };

const SCOPES: Shape = {
  type: "list",
  items: { type: "string", pattern: "^\\S+$" },
  description: "Scopes that a caller's token must have.",
};

const ANNOTATIONS: Shape = {
  type: "object",
  description: "What clients may expect of the tool.",
  fields: {
    title: TITLE,
    readOnlyHint: { type: "boolean", description: "It changes nothing." },
    destructiveHint: { type: "boolean", description: "It may destroy something." },
    idempotentHint: { type: "boolean", description: "Calling it twice is as good as once." },
    openWorldHint: { type: "boolean", description: "It reaches things outside of the server." },
  },
};

const ARGUMENT: ObjectShape = {
  type: "object",
  fields: {
    name: NAME,
    title: TITLE,
    description: { type: "string", empty: true, description: "What it is." },
    required: { type: "boolean", default: false, description: "It must be given." },
  },
};

export type Primitive = "tools" | "prompts" | "resources" | "resourceTemplates";

/** What has an invocation: tools, and from 0.1 on prompts and resources. */
export function primitiveShape(kind: Primitive, version: Version): ObjectShape {
  const first = version === "0.0.1";
  return {
    type: "object",
    fields: {
      name: NAME,
      title: TITLE,
      description: { type: "string", required: true, description: "what it does, for the model" },
      ...(kind === "prompts"
        ? { arguments: { type: "list" as const, items: ARGUMENT, description: "What it takes, for people." } }
        : {}),
      ...(kind === "resources"
        ? { uri: { type: "string" as const, required: true as const, description: "its address" } }
        : {}),
      ...(kind === "resources"
        ? {
            size: {
              type: "number" as const,
              integer: true as const,
              minimum: 0,
              description: "Its size in bytes.",
            },
          }
        : {}),
      ...(kind === "resourceTemplates"
        ? {
            uriTemplate: {
              type: "string" as const,
              required: true as const,
              description: "its address with gaps, as in RFC 6570",
            },
          }
        : {}),
      ...(kind === "resources" || kind === "resourceTemplates" ? { mimeType: MIME_TYPE } : {}),
      inputSchema: schema("the arguments that it takes", first),
      outputSchema: schema("The structure of its result."),
      invocation: invocationShape(version),
      requiredScopes: SCOPES,
      ...(kind === "tools" && !first ? { annotations: ANNOTATIONS } : {}),
    },
  };
}

function serverFields(version: Version): Readonly<Record<string, Shape>> {
  const list = (kind: Primitive, description: string): Shape => ({
    type: "list",
    items: primitiveShape(kind, version),
    description,
  });
  return {
    name: { type: "string", required: true, description: "the name of the server" },
    version: {
      type: "string",
      scalars: true,
      required: true,
      description: "the version of its tools, such as 1.0.0",
    },
    ...(version === "0.2" ? {} : { runtime: RUNTIME_SHAPE }),
    sandbox: {
      type: "built",
      schema: SANDBOX,
      description: "What its commands may touch; a command may narrow it. Portolan's own.",
    },
    tools: list("tools", "What it can do."),
    ...(version === "0.0.1"
      ? {}
      : {
          instructions: {
            type: "string",
            empty: true,
            description: "How it is meant to be used, for the model.",
          },
          invocationBases: {
            type: "map",
            values: invocationShape(version, true),
            description: "Invocations that others extend, by name.",
          },
          prompts: list("prompts", "Prompts that it has."),
          resources: list("resources", "Resources that it has."),
          resourceTemplates: list("resourceTemplates", "Resources by address with gaps."),
        }),
  };
}

export function serverShape(version: Version): ObjectShape {
  return { type: "object", description: "A server and its tools.", fields: serverFields(version) };
}

const fileVersion = (versions: readonly string[]): Shape => ({
  type: "string",
  required: true,
  scalars: true,
  enum: versions,
  description: "the version of this format",
});

export function fileShape(version: Version): ObjectShape {
  if (version === "0.0.1")
    return {
      type: "object",
      description: "An mcpfile: servers whose tools are HTTP requests and commands.",
      fields: {
        mcpFileVersion: fileVersion(["0.0.1"]),
        servers: { type: "list", items: serverShape(version), description: "The servers of this file." },
      },
    };
  const head: Readonly<Record<string, Shape>> =
    version === "0.1"
      ? { mcpFileVersion: fileVersion(FILE_VERSIONS.slice(1)) }
      : {
          kind: { type: "string", required: true, enum: [KINDS.tools], description: "what this file is" },
          schemaVersion: fileVersion(SCHEMA_VERSIONS),
        };
  return {
    type: "object",
    description: "An mcpfile: a server whose tools are HTTP requests and commands.",
    fields: { ...head, ...serverFields(version) },
  };
}

export const CONFIG_SHAPE: ObjectShape = {
  type: "object",
  description: "How the server of an mcpfile is served.",
  fields: {
    kind: { type: "string", required: true, enum: [KINDS.config], description: "what this file is" },
    schemaVersion: fileVersion(SCHEMA_VERSIONS),
    runtime: RUNTIME_SHAPE,
  },
};
