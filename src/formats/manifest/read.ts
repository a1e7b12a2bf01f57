// Reads a bridge manifest: text in, servers and diagnostics out.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import { type ServerConfig, isObject } from "../../model/index.ts";
import {
  Diagnostics,
  nodeAt,
  type ObjectNode,
  type Place,
  quoted,
  readText,
  type ReadResult,
  readValue,
  type TextNode,
  toPointer,
} from "../document/index.ts";
import {
  flag,
  type Input,
  list,
  map,
  nodeOf,
  partialObject,
  type ReadContext,
  text,
  union,
  type Value,
} from "../schema-builder/index.ts";
import { ALIAS_PATTERN, aliasProblem } from "./alias.ts";
import { definedOnly } from "./defined.ts";
import { folderOf } from "./paths.ts";
import { toServerConfig, toDefaults, withDefaults } from "./server-config.ts";
import {
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  NAMING,
  SERVER_FIELDS,
  type ServerValue,
  TRANSPORT,
} from "./server-schema.ts";

const MANIFEST_SERVER = partialObject("", {
  alias: text("Short name of the server, unique in this file. It is a part of the tool names.", {
    pattern: ALIAS_PATTERN,
  }).required(),
  ...SERVER_FIELDS,
  transport: TRANSPORT.required(),
});

const CONFIG = partialObject("MCP servers of the bridge, and settings for all of them.", {
  servers: list("MCP servers of the bridge.", MANIFEST_SERVER),
  enabledServers: list("Aliases of the servers to use. Default: all servers.", text()),
  toolAllowlist: union(
    "Tools to offer, for servers that have no tool_allowlist themselves: one list for all servers, or an object with a list for each alias. * matches any text.",
    [list("", text()), map("", list("", text()))],
  ),
  naming: NAMING,
  descriptionPrefix: DESCRIPTION_PREFIX,
  ...DEFAULT_FIELDS,
});

export const MANIFEST = partialObject("Bridge manifest: several MCP servers behind one extension.", {
  id: text("ID of the extension."),
  name: text("Display name of the extension.", { scalars: true }),
  version: text("Version of the extension.", { scalars: true }),
  description: text("Description of the extension.", { empty: true }),
  entrypoint: text(
    "Class that implements the bridge in other hosts. Portolan loads no code, and warns about any class except McpBridgeExtension.",
  ),
  dependsOn: list(
    "IDs of extensions that this extension needs in other hosts. Portolan loads no extensions, and warns about this field.",
    text(),
  ),
  config: CONFIG.required(),
  setupInstructions: text(
    "Instructions for the user. Portolan shows them in the error if a server cannot start, for example because a secret is missing.",
    {
      empty: true,
    },
  ),
  enabled: flag("If false, Portolan ignores all servers of this file.").default(true),
});

/** A manifest as its file writes it. */
export type ManifestInput = Input<typeof MANIFEST>;
type ManifestValue = Value<typeof MANIFEST>;
type ManifestConfig = Value<typeof CONFIG>;

/** The settings of a manifest beside its servers. */
export interface ManifestSettings extends Omit<ManifestValue, "config" | "dependsOn" | "enabled"> {
  readonly dependsOn: readonly string[];
  readonly enabled: boolean;
  readonly naming?: string;
}

export interface ManifestResult {
  /** The servers without errors, with the defaults of `config` filled in. */
  readonly servers: readonly ServerConfig[];
  readonly settings: ManifestSettings;
  readonly diagnostics: readonly Diagnostic[];
}

export function parseManifest(text: string, file: string): ManifestResult {
  return readManifest(readText(text, file), file);
}

/** A manifest that a program passes in place of a file. Paths are relative to the folder of `file`. */
export function readManifestValue(value: unknown, file: string): ManifestResult {
  return readManifest(readValue(value, file), file);
}

function readManifest({ root, diagnostics: syntax }: ReadResult, file: string): ManifestResult {
  if (root === undefined) return { servers: [], settings: toSettings({}), diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const context: ReadContext = { diagnostics, folder: folderOf(file) };
  const manifest = MANIFEST.read(root, context) ?? {};
  const config = manifest.config ?? {};
  const named = checkAliases(config, diagnostics);
  checkEnabledServers(nodeAt(root, "config", "enabled_servers"), named, diagnostics);
  checkAllowlist(nodeAt(root, "config", "tool_allowlist"), named, diagnostics);
  noteExtensionFields(manifest, root, diagnostics);
  const toConfig = ({ alias, server, node }: NamedServer): ServerConfig | undefined =>
    toServerConfig(server, {
      ...context,
      alias,
      node,
      origin: { file, line: node.line, column: node.column, format: "manifest" },
      enabled: manifest.enabled !== false && config.enabledServers?.includes(alias) !== false,
    });
  // The other errors of a server without an alias are reported too.
  for (const server of config.servers ?? []) {
    const node = nodeOf(server);
    if (server.alias === undefined && node !== undefined) toConfig({ alias: "", server, node });
  }
  const servers = named.flatMap((one) => {
    const { alias } = one;
    const declared = toConfig(one);
    if (declared === undefined) return [];
    const whole = withDefaults(declared, toDefaults(config));
    const allowTools = whole.allowTools ?? allowedTools(config, alias);
    return [
      definedOnly<ServerConfig>({ ...whole, allowTools, setup: manifest.setupInstructions || undefined }),
    ];
  });
  return { servers, settings: toSettings(manifest), diagnostics: withServer(diagnostics.sorted(), named) };
}

/** Recognizes a bridge manifest by its keys. */
export function looksLikeManifest(value: unknown): boolean {
  if (!isObject(value) || !isObject(value.config)) return false;
  return Object.hasOwn(value.config, "servers") || Object.hasOwn(value.config, "enabled_servers");
}

interface NamedServer {
  readonly alias: string;
  readonly server: ServerValue;
  readonly node: ObjectNode;
}

function checkAliases({ servers = [] }: ManifestConfig, diagnostics: Diagnostics): NamedServer[] {
  const seen = new Map<string, Place>();
  return servers.flatMap((server): NamedServer[] => {
    const { alias } = server;
    const node = nodeOf(server);
    const place = nodeAt(node, "alias");
    if (node === undefined || place === undefined || alias === undefined) return [];
    const problem = aliasProblem(alias);
    const first = seen.get(alias);
    if (problem !== undefined) diagnostics.add(place, problem.message, problem.hint);
    else if (first !== undefined)
      diagnostics.add(
        place,
        `alias ${quoted(alias)} is declared here and at line ${first.line}, column ${first.column}; an alias must be unique`,
        "Give one of the two servers another alias.",
      );
    else seen.set(alias, place);
    return [{ alias, server, node }];
  });
}

function checkEnabledServers(
  list: TextNode | undefined,
  named: readonly NamedServer[],
  diagnostics: Diagnostics,
): void {
  const aliases = named.map(({ alias }) => alias);
  for (const item of list?.kind === "list" ? list.items : []) {
    const alias = item.kind === "string" ? String(item.value) : "";
    if (alias !== "" && !aliases.includes(alias))
      diagnostics.add(item, `there is no server ${quoted(alias)}`, unknownAliasHint(alias, aliases));
  }
}

function checkAllowlist(
  lists: TextNode | undefined,
  named: readonly NamedServer[],
  diagnostics: Diagnostics,
): void {
  const aliases = named.map(({ alias }) => alias);
  for (const entry of lists?.kind === "object" ? lists.entries : [])
    if (!aliases.includes(entry.key))
      diagnostics.add(entry, `there is no server ${quoted(entry.key)}`, unknownAliasHint(entry.key, aliases));
}

function allowedTools(
  { toolAllowlist: lists }: ManifestConfig,
  alias: string,
): readonly string[] | undefined {
  if (lists === undefined || Array.isArray(lists)) return lists as readonly string[] | undefined;
  const byAlias = lists as Readonly<Record<string, readonly string[]>>;
  return Object.hasOwn(byAlias, alias) ? byAlias[alias] : undefined;
}

/** The bridge itself, which Portolan replaces. */
const BRIDGE_CLASS = /(?:^|[:.])McpBridge(?:Extension)?$/;

/** Portolan runs the servers of a manifest and loads no extensions, so other code that the manifest names is missing. */
function noteExtensionFields(
  { entrypoint, dependsOn = [] }: ManifestValue,
  root: TextNode,
  diagnostics: Diagnostics,
): void {
  const entry = nodeAt(root, "entrypoint");
  if (entry !== undefined && entrypoint !== undefined && !BRIDGE_CLASS.test(entrypoint))
    diagnostics.warn(
      entry,
      `Portolan does not load the entrypoint ${quoted(entrypoint)}: it runs the servers of config.servers, but no code of an extension`,
      "Remove entrypoint, or keep the extension in the host that loads it.",
    );
  const list = nodeAt(root, "depends_on");
  if (list !== undefined && dependsOn.length > 0)
    diagnostics.warn(
      list,
      `Portolan ignores depends_on, because it loads no extensions (${dependsOn
        .map((id) => quoted(id))
        .slice(0, 10)
        .join(", ")})`,
      "Add the servers of these extensions to config.servers, or remove depends_on.",
    );
}

export function unknownAliasHint(alias: string, aliases: readonly string[]): string {
  if (aliases.length === 0) return "No servers are declared.";
  return didYouMean(alias, aliases) ?? `The servers are ${aliases.slice(0, 20).join(", ")}.`;
}

/** Adds the alias of the server to diagnostics that are inside its part of the file. */
export function withServer(
  diagnostics: readonly Diagnostic[],
  servers: readonly { readonly alias: string; readonly node: Place }[],
): Diagnostic[] {
  const places = servers.map(({ alias, node }) => ({ alias, pointer: toPointer(node.path) }));
  return diagnostics.map((diagnostic) => {
    const path = `${diagnostic.path ?? ""}/`;
    const server = places.find(({ pointer }) => path.startsWith(`${pointer}/`))?.alias;
    return server === undefined ? diagnostic : { ...diagnostic, server };
  });
}

function toSettings({ config, ...manifest }: ManifestValue): ManifestSettings {
  return {
    ...manifest,
    dependsOn: manifest.dependsOn ?? [],
    enabled: manifest.enabled !== false,
    naming: config?.naming,
  };
}
