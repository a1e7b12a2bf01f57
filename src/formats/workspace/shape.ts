// The shape of portolan.yaml, a workspace's own file.

import {
  type CheckedDefaults,
  type CheckedServer,
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  NAMING,
  SERVER_FIELDS,
} from "../manifest/index.ts";
import { ALIAS_PATTERN, type ObjectShape } from "../text/index.ts";
import { type CheckedContracts, CONTRACTS_SHAPE } from "./contracts.ts";
import type { CheckedGateway } from "./gateway-checked.ts";
import { GATEWAY_SHAPE } from "./gateway-shape.ts";

export const WORKSPACE_SHAPE: ObjectShape = {
  type: "object",
  description: "A Portolan workspace: which servers belong to it, and how they are offered.",
  fields: {
    version: { type: "number", oneOf: [1], default: 1, description: "The version of this format." },
    sources: {
      type: "union",
      options: [{ type: "string" }, { type: "list", items: { type: "string" } }],
      description:
        "Other declarations to read: files, or patterns with * and **, relative to this folder. When absent, the usual names are looked for.",
    },
    naming: NAMING,
    description_prefix: DESCRIPTION_PREFIX,
    env_file: {
      type: "string",
      description: "A .env file that values of ${NAME} references may come from; relative to this folder.",
    },
    defaults: {
      type: "object",
      description: "What holds for every server that says nothing else.",
      fields: DEFAULT_FIELDS,
    },
    servers: {
      type: "map",
      keyPattern: ALIAS_PATTERN,
      values: { type: "object", fields: SERVER_FIELDS },
      description: "Servers of this workspace, by alias. The transport follows from command or url.",
    },
    enabled_servers: {
      type: "list",
      items: { type: "string" },
      description: "Only these servers are used, by alias, wherever they are declared.",
    },
    contracts: CONTRACTS_SHAPE,
    gateway: GATEWAY_SHAPE,
  },
};

export interface CheckedWorkspace {
  readonly sources?: string | readonly string[];
  readonly naming?: string;
  readonly description_prefix?: boolean | string;
  readonly env_file?: string;
  readonly defaults?: CheckedDefaults;
  readonly servers?: Readonly<Record<string, CheckedServer>>;
  readonly enabled_servers?: readonly string[];
  readonly gateway?: CheckedGateway;
  readonly contracts?: CheckedContracts;
}
