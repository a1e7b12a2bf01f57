// What a DRIVER.md of kind mcp has beside what every driver has.

import { createFsSchema, type Sandbox, SHARED_SANDBOX_FIELDS, toAbsolutePath } from "../manifest/index.ts";
import type { AnySchema } from "../schema-builder/index.ts";
import type { ObjectShape, Shape } from "../document/index.ts";
import { METADATA, TEXTS, whole } from "./fields.ts";
import { SERVER_SHAPES } from "./server-shape.ts";

/** `implements[].metadata.mcp`. */
export const MCP_BINDING: ObjectShape = {
  type: "object",
  description: "The MCP tool that serves the contract.",
  fields: {
    tool_name: { type: "string", required: true, description: "the name of the MCP tool" },
    argument_mapping: {
      type: "map",
      values: { type: "string" },
      description: "Inputs of the contract that have another name as arguments of the tool.",
    },
    result_extract: {
      type: "string",
      default: "$",
      description: "Where in the result the output of the contract is, such as $.contents.",
    },
  },
};

const PROMPTS: Shape = {
  type: "list",
  items: {
    type: "object",
    fields: {
      name: { type: "string", required: true, description: "the name of the prompt" },
      description: { type: "string", empty: true, description: "What it is for." },
      integrate_as: {
        type: "string",
        required: true,
        enum: ["skill_block", "raw"],
        description: "what becomes of it",
      },
      skill_ref: { type: "string", description: "For skill_block: the SKILL.md that it becomes a part of." },
    },
  },
  description: "Prompts of the server.",
};

const RESOURCES: Shape = {
  type: "list",
  items: {
    type: "object",
    fields: {
      uri_template: { type: "string", required: true, description: "the address, with gaps in braces" },
      description: { type: "string", empty: true, description: "What it is." },
      integrate_as: {
        type: "string",
        required: true,
        enum: ["ref_kind", "raw"],
        description: "what becomes of it",
      },
      ref_kind_id: {
        type: "string",
        pattern: "^[a-z][a-z0-9_]*$",
        says: "Use small letters, digits and _, beginning with a letter.",
        maxLength: 80,
        description: "For ref_kind: the kind of reference that it becomes.",
      },
    },
  },
  description: "Resources of the server.",
};

const built = (schema: AnySchema): Shape => ({ type: "built", schema });

/** A folder stands for everything in it, so that `/**` at the end of a path changes nothing. */
const FS = createFsSchema((written, node, context) =>
  toAbsolutePath(written.replace(/(?<=.)\/\*\*$/, ""), node, context),
);
const { env, home, limits, pathArguments } = SHARED_SANDBOX_FIELDS;

/** The sandbox rules that a driver requests; the workspace decides how strictly they are enforced. */
const SANDBOX: ObjectShape = {
  type: "object",
  description: "What the program may touch.",
  fields: {
    mode: {
      type: "string",
      enum: ["enforce", "warn"],
      description:
        "Asks that the server starts although something of this is not enforced; the workspace has to say the same.",
    },
    network: {
      type: "object",
      description: "The same as network beside sandbox.",
      fields: {
        egress: { ...TEXTS, description: "Hosts that may be reached." },
        ingress: { ...TEXTS, description: "Not used here." },
      },
    },
    fs: built(FS),
    exec: {
      type: "object",
      description: "Which programs it may run.",
      fields: {
        allow: {
          type: "union",
          options: [{ type: "boolean" }, TEXTS],
          description: "false: none beside itself; or the only ones that it may run.",
        },
        spawn: {
          type: "union",
          options: [{ type: "boolean" }, TEXTS],
          description: "The only programs that it may run; or false: none.",
        },
      },
    },
    env: built(env),
    tty: {
      type: "object",
      description: "Not used here: a server has no terminal.",
      fields: { required: { type: "boolean", description: "It needs a terminal." } },
    },
    home: built(home),
    limits: built(limits),
    path_arguments: { ...built(pathArguments), aliases: ["pathArguments"] },
  },
};

export const MCP_SHAPE: ObjectShape = {
  type: "object",
  open: true,
  fields: {
    server: {
      type: "union",
      options: Object.values(SERVER_SHAPES),
      description: "Where the MCP server is; may also stand in a server.json beside this file.",
    },
    transport: {
      type: "string",
      required: true,
      enum: ["stdio", "sse", "http"],
      synonyms: { "streamable-http": "http" },
      description: "how the server is reached",
    },
    protocol_version: {
      type: "string",
      scalars: true,
      description: "The version of the protocol, such as 2025-06-18; whichever both know when absent.",
    },
    prompts: PROMPTS,
    resources: RESOURCES,
    connection_options: {
      type: "object",
      description: "How the connection is kept.",
      fields: {
        timeout_ms: whole(100, "How long a request may take."),
        max_retries: whole(0, "How often a connection is tried again.", 10),
        keepalive: { type: "boolean", description: "Whether the connection is kept between calls." },
      },
    },
    sandbox: SANDBOX,
    implements: {
      type: "list",
      items: {
        type: "object",
        open: true,
        fields: { metadata: { type: "object", open: true, fields: { mcp: MCP_BINDING } } },
      },
    },
  },
};

/** As above for editors: the fields of both, and all of an entry in one place. */
export function bindingMetadata(): Shape {
  return {
    type: "object",
    open: true,
    required: true,
    description: METADATA.description ?? "",
    fields: { mcp: { ...MCP_BINDING, required: true } },
  };
}

export interface CheckedMcpBinding {
  readonly tool_name?: string;
  readonly argument_mapping?: Readonly<Record<string, string>>;
  readonly result_extract: string;
}

export interface CheckedSandboxBlock {
  readonly mode?: "enforce" | "warn";
  readonly network?: { readonly egress?: readonly string[] };
  readonly fs?: Sandbox["fs"];
  readonly env?: Sandbox["env"];
  readonly home?: Sandbox["home"];
  readonly limits?: Sandbox["limits"];
  readonly path_arguments?: Sandbox["pathArguments"];
  readonly exec?: {
    readonly allow?: boolean | readonly string[];
    readonly spawn?: boolean | readonly string[];
  };
  readonly tty?: { readonly required?: boolean };
}

export interface CheckedMcp {
  readonly transport?: "stdio" | "sse" | "http";
  readonly protocol_version?: string;
  readonly prompts?: readonly {
    readonly name?: string;
    readonly description?: string;
    readonly integrate_as?: "skill_block" | "raw";
    readonly skill_ref?: string;
  }[];
  readonly resources?: readonly {
    readonly uri_template?: string;
    readonly description?: string;
    readonly integrate_as?: "ref_kind" | "raw";
    readonly ref_kind_id?: string;
  }[];
  readonly connection_options?: {
    readonly timeout_ms?: number;
    readonly max_retries?: number;
    readonly keepalive?: boolean;
  };
  readonly sandbox?: CheckedSandboxBlock;
  readonly implements?: readonly ({ readonly metadata?: { readonly mcp?: CheckedMcpBinding } } | undefined)[];
}
