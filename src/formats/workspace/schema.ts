// Schema of portolan.yaml, the file of a workspace.

import {
  ALIAS_PATTERN,
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  NAMING,
  PINS,
  SERVER,
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

const CONTRACTS = partialObject("Which drivers may serve contracts, and which calls are approved first.", {
  allowTags: list("Only drivers with one of these policy tags may serve.", text()),
  denyTags: list("Drivers with one of these policy tags never serve.", text()),
  region: text("Where data may go: drivers of other regions do not serve."),
  strictRegion: flag("A driver that is global is in no region. By default it is in every one."),
  approval: oneOf("Which calls are approved first, beyond what contracts ask for.", [
    "auto",
    "on-mutate",
    "always",
  ]),
  approveFromRisk: integer("Calls of contracts with this risk level or more are approved first.", {
    minimum: 0,
  }),
  unattended: oneOf("What happens to a call that needs approval where nobody can give it (default refuse).", [
    "refuse",
    "allow",
  ]),
  fallback: flag("An idempotent call that failed for a passing reason may go to the next driver."),
  sandbox: map(
    "The sandbox mode of single drivers, by their id; a DRIVER.md can only ask for one.",
    oneOf("", ["enforce", "warn", "off"]),
  ),
});

export const WORKSPACE = partialObject(
  "A Portolan workspace: which servers belong to it, and how they are offered.",
  {
    version: oneOfNumbers("The version of this format.", [1]).default(1),
    sources: union(
      "Other config files to read: files, or patterns with * and **, relative to this folder. When absent, the usual names are looked for.",
      [text(), list("", text())],
    ),
    naming: NAMING,
    pins: PINS,
    descriptionPrefix: DESCRIPTION_PREFIX,
    envFile: text("A .env file that values of ${NAME} references may come from; relative to this folder."),
    defaults: partialObject("Defaults for every server that does not set them itself.", DEFAULT_FIELDS),
    servers: map("Servers of this workspace, by alias. The transport follows from command or url.", SERVER, {
      keyPattern: ALIAS_PATTERN,
    }),
    enabledServers: list("Only these servers are used, by alias, wherever they are declared.", text()),
    contracts: CONTRACTS,
    gateway: GATEWAY,
    telemetry: TELEMETRY,
    audit: AUDIT,
    registries: REGISTRIES,
    packages: PACKAGES,
  },
);

export type WorkspaceValue = Value<typeof WORKSPACE>;

/** The fields of portolan.yaml that a program can pass itself. */
export type WorkspaceInput = Omit<Input<typeof WORKSPACE>, "sources" | "contracts">;
