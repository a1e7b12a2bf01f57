// Schema of portolan.yaml, the file of a workspace.

import {
  ALIAS_PATTERN,
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  NAMING,
  PINS,
  SERVER,
  type ServerFields,
} from "../manifest/index.ts";
import {
  flag,
  type Input,
  integer,
  list,
  map,
  oneOf,
  oneOfNumbers,
  partialObject,
  text,
  union,
  type Value,
} from "../schema-builder/index.ts";
import { GATEWAY } from "./gateway-schema.ts";
import { PACKAGES, REGISTRIES } from "./packages-schema.ts";
import { AUDIT, TELEMETRY } from "./telemetry-schema.ts";

const CONTRACTS = partialObject(
  "Policy for contracts: which drivers can serve them, and which calls need approval.",
  {
    allowTags: list(
      "Only drivers with at least one of these policy tags can serve contracts. Default: all drivers.",
      text(),
    ),
    denyTags: list("Drivers with any of these policy tags cannot serve contracts.", text()),
    region: text(
      "Region that data must not leave, such as eu-west-1. Drivers of other regions cannot serve contracts.",
    ),
    strictRegion: flag(
      "If true, drivers with the region global do not match region. Default: false, they match every region.",
    ),
    approval: oneOf(
      "Contract calls that need approval, in addition to those that their contract requires. auto (default): none. on-mutate: calls of contracts with mutates. always: all calls.",
      ["auto", "on-mutate", "always"],
    ),
    approveFromRisk: integer(
      "Calls of contracts with this risk_level or higher need approval. Default: none.",
      {
        minimum: 0,
      },
    ),
    unattended: oneOf(
      "Handling of a call that needs approval if no one can be asked: refuse it (default) or allow it.",
      ["refuse", "allow"],
    ),
    fallback: flag(
      "If true, an idempotent call that failed with a temporary error goes to the next driver. Default: false.",
    ),
    sandbox: map(
      "Sandbox modes of drivers, by driver ID. A DRIVER.md can only request a mode; this setting grants it.",
      oneOf("", ["enforce", "warn", "off"]),
    ),
  },
);

export const WORKSPACE = partialObject("Portolan workspace: its MCP servers, its gateway and its policies.", {
  version: oneOfNumbers("Version of this file format.", [1]).default(1),
  sources: union(
    "Other config files to read: paths, or patterns with * and **, relative to the folder of this file. Default: the usual config files, such as .mcp.json and mcpfile.yaml.",
    [text(), list("", text())],
  ),
  naming: NAMING,
  pins: PINS,
  descriptionPrefix: DESCRIPTION_PREFIX,
  envFile: text(
    "Path of a .env file with values for ${NAME} references, relative to the folder of this file. Default: none.",
  ),
  defaults: partialObject(
    "Default values of server fields, for servers that do not set them.",
    DEFAULT_FIELDS,
  ),
  servers: map(
    "MCP servers of this workspace, by alias. Default of transport: streamable-http for a server with url (websocket for ws:// and wss://), otherwise stdio.",
    SERVER,
    {
      keyPattern: ALIAS_PATTERN,
    },
  ),
  enabledServers: list("Aliases of the servers to use, from all config files. Default: all servers.", text()),
  contracts: CONTRACTS,
  gateway: GATEWAY,
  telemetry: TELEMETRY,
  audit: AUDIT,
  registries: REGISTRIES,
  packages: PACKAGES,
});

export type WorkspaceValue = Value<typeof WORKSPACE>;

/** The fields of portolan.yaml that a program can pass itself. */
export type WorkspaceInput = Omit<Input<typeof WORKSPACE>, "contracts" | "servers"> & {
  readonly servers?: Readonly<Record<string, ServerFields>> | undefined;
};
