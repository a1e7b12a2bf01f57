// Schema of a bridge manifest.

import { ALIAS_PATTERN } from "./alias.ts";
import { flag, list, partialObject, text, type Value } from "../schema-builder/index.ts";
import { DEFAULT_FIELDS, DESCRIPTION_PREFIX, NAMING, SERVER_FIELDS, TRANSPORT } from "./server-schema.ts";

const MANIFEST_SERVER = partialObject("", {
  alias: text("a short name, unique here: the prefix of its tools", { pattern: ALIAS_PATTERN }).required(),
  ...SERVER_FIELDS,
  transport: TRANSPORT.describe("how the server is reached").required(),
});

const CONFIG = partialObject("its servers and settings", {
  servers: list("The MCP servers.", MANIFEST_SERVER),
  enabledServers: list("Only these servers are used, by alias.", text()),
  naming: NAMING,
  descriptionPrefix: DESCRIPTION_PREFIX,
  ...DEFAULT_FIELDS,
});

export const MANIFEST = partialObject("A bridge manifest: many MCP servers behind one extension.", {
  id: text("The extension's id."),
  name: text("Its name for people.", { scalars: true }),
  version: text("Its version.", { scalars: true }),
  description: text("What it is for.", { empty: true }),
  entrypoint: text("The class that implements it, for hosts that load one."),
  dependsOn: list("Extensions that it needs.", text()),
  config: CONFIG.required(),
  setupInstructions: text("What a person has to do first.", { empty: true }),
  enabled: flag("false leaves out all servers.").default(true),
});

export type ManifestValue = Value<typeof MANIFEST>;
export type ManifestConfig = Value<typeof CONFIG>;
