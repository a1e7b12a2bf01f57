// The shape of a bridge manifest.

import { ALIAS_PATTERN, type ObjectShape } from "../text/index.ts";
import { NAMING } from "./naming.ts";
import {
  type CheckedDefaults,
  type CheckedServer,
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  SERVER_FIELDS,
} from "./server-fields.ts";

const MANIFEST_SERVER: ObjectShape = {
  type: "object",
  fields: {
    alias: {
      type: "string",
      required: true,
      pattern: ALIAS_PATTERN,
      description: "a short name, unique here: the prefix of its tools",
    },
    ...SERVER_FIELDS,
    transport: {
      ...SERVER_FIELDS.transport,
      type: "string",
      required: true,
      description: "how the server is reached",
    },
  },
};

export const MANIFEST_SHAPE: ObjectShape = {
  type: "object",
  description: "A bridge manifest: many MCP servers behind one extension.",
  fields: {
    id: { type: "string", description: "The extension's id." },
    name: { type: "string", scalars: true, description: "Its name for people." },
    version: { type: "string", scalars: true, description: "Its version." },
    description: { type: "string", empty: true, description: "What it is for." },
    entrypoint: { type: "string", description: "The class that implements it, for hosts that load one." },
    depends_on: { type: "list", items: { type: "string" }, description: "Extensions that it needs." },
    config: {
      type: "object",
      required: true,
      description: "its servers and settings",
      fields: {
        servers: { type: "list", items: MANIFEST_SERVER, description: "The MCP servers." },
        enabled_servers: {
          type: "list",
          items: { type: "string" },
          description: "Only these servers are used, by alias.",
        },
        naming: NAMING,
        description_prefix: DESCRIPTION_PREFIX,
        ...DEFAULT_FIELDS,
      },
    },
    setup_instructions: { type: "string", empty: true, description: "What a person has to do first." },
    enabled: { type: "boolean", default: true, description: "false leaves out all servers." },
  },
};

export interface CheckedManifest {
  readonly id?: string;
  readonly name?: string;
  readonly version?: string;
  readonly description?: string;
  readonly entrypoint?: string;
  readonly depends_on?: readonly string[];
  readonly config?: CheckedConfig;
  readonly setup_instructions?: string;
  readonly enabled?: boolean;
}

export interface CheckedConfig extends CheckedDefaults {
  readonly servers?: readonly (CheckedServer & { readonly alias?: string })[];
  readonly enabled_servers?: readonly string[];
  readonly naming?: string;
  readonly description_prefix?: boolean | string;
}
