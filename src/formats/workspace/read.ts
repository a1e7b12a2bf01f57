// Reads portolan.yaml: text in, settings, servers and diagnostics out.

import { type Diagnostic, suggest } from "../../errors/index.ts";
import {
  type ContractPolicy,
  type GatewaySettings,
  isObject,
  type PackagePolicy,
  type PinMode,
  type RegistrySetting,
  type ServerConfig,
} from "../../model/index.ts";
import {
  Diagnostics,
  type Entry,
  nodeAt,
  type Place,
  readText,
  type ReadResult,
  readValue,
  type TextNode,
  toLabel,
} from "../document/index.ts";
import {
  aliasProblem,
  folderOf,
  type ServerDefaults,
  toServerConfig,
  toDefaults,
  withServer,
} from "../manifest/index.ts";
import type { ReadContext } from "../schema-builder/index.ts";
import { serversNamedByGateway, toolsNamedByGateway } from "./gateway-schema.ts";
import { WORKSPACE, type WorkspaceValue } from "./schema.ts";
import { checkMetricsCallers } from "./telemetry-schema.ts";

/** A text of the file with its place, for diagnostics that need other files too. */
export interface PlacedWord extends Place {
  readonly text: string;
}

export interface WorkspaceSettings {
  /** As written. Without it, the workspace looks for the usual file names. */
  readonly sources?: readonly PlacedWord[];
  readonly naming?: string;
  readonly descriptionPrefix?: boolean | string;
  readonly pins?: PinMode;
  /** As written, relative to the workspace's folder. */
  readonly envFile?: string;
  readonly defaults: ServerDefaults;
  readonly enabledServers?: readonly PlacedWord[];
  /** Absent also when it has errors. */
  readonly gateway?: GatewaySettings;
  readonly contracts?: ContractPolicy;
  /** The aliases that the gateway's rules name. */
  readonly gatewayServers?: readonly PlacedWord[];
  /** The tool patterns of the gateway's rules and budgets. */
  readonly gatewayTools?: readonly PlacedWord[];
  /** Folders in it are as written. */
  readonly registries?: readonly RegistrySetting[];
  readonly packages?: PackagePolicy;
}

export interface WorkspaceResult {
  /** The servers without errors. `defaults` are not filled in, because they apply to servers of other files too. */
  readonly servers: readonly ServerConfig[];
  readonly settings: WorkspaceSettings;
  readonly diagnostics: readonly Diagnostic[];
  /** True for a file without content, or with comments only. */
  readonly isEmpty?: boolean;
}

export function parseWorkspace(text: string, file: string): WorkspaceResult {
  return readWorkspace(readText(text, file), file);
}

/** The servers and settings that a program passes in place of a file. Paths are relative to the folder of `file`. */
export function readWorkspaceValue(value: unknown, file: string): WorkspaceResult {
  return readWorkspace(readValue(value, file), file);
}

function readWorkspace({ root, diagnostics: syntax }: ReadResult, file: string): WorkspaceResult {
  if (root === undefined) return { servers: [], settings: { defaults: {} }, diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const context: ReadContext = { diagnostics, folder: folderOf(file) };
  // A file of comments alone is a workspace with all defaults.
  const workspace = root.kind === "null" ? {} : (WORKSPACE.read(root, context) ?? {});
  checkMetricsCallers(root, context);
  const entries = serverEntries(root);
  for (const entry of entries) checkAlias(entry, diagnostics);
  const servers = entries.flatMap((entry) => toServer(entry, workspace, context) ?? []);
  return {
    servers,
    settings: toSettings(workspace, root),
    isEmpty: root.kind === "null" ? true : undefined,
    diagnostics: withServer(
      diagnostics.sorted(),
      entries.map(({ key, value }) => ({ alias: key, node: value })),
    ),
  };
}

/** Recognizes portolan.yaml by its keys. */
export function looksLikeWorkspace(value: unknown): boolean {
  if (!isObject(value)) return false;
  const ownKeys = [
    "sources",
    "naming",
    "defaults",
    "env_file",
    "pins",
    "enabled_servers",
    "gateway",
    "telemetry",
    "audit",
    "contracts",
    "registries",
    "packages",
  ];
  return isObject(value.servers) || (value.version === 1 && ownKeys.some((key) => Object.hasOwn(value, key)));
}

function serverEntries(root: TextNode): readonly Entry[] {
  const servers = nodeAt(root, "servers");
  return servers?.kind === "object" ? servers.entries : [];
}

function checkAlias(entry: Entry, diagnostics: Diagnostics): void {
  const problem = aliasProblem(entry.key);
  if (problem !== undefined) diagnostics.add(entry, problem.message, problem.hint);
}

/** Keys of which a server has one. */
const TARGETS = ["transport", "command", "npm", "docker", "package", "url"];

function toServer(entry: Entry, workspace: WorkspaceValue, context: ReadContext): ServerConfig | undefined {
  const { diagnostics } = context;
  const { key: alias, value: node } = entry;
  const server = workspace.servers?.[alias];
  if (node.kind !== "object" || server === undefined) return undefined;
  const reachable = TARGETS.some((name) => {
    const given = nodeAt(node, name);
    return given !== undefined && given.kind !== "null";
  });
  // A misspelt key is reported by itself, as an unknown key.
  const isMisspelt = (): boolean => node.entries.some(({ key }) => suggest(key, TARGETS).length > 0);
  if (!reachable && !isMisspelt())
    diagnostics.add(
      entry,
      `${toLabel(entry.path)} has neither command nor url`,
      "Write command (or npm, docker or package) for a program to run, or url for a server to reach.",
    );
  const { file } = diagnostics;
  return toServerConfig(server, {
    ...context,
    alias,
    node,
    origin: { file, line: entry.line, column: entry.column, format: "workspace" },
    enabled: true,
  });
}

function toSettings(workspace: WorkspaceValue, root: TextNode): WorkspaceSettings {
  const { naming, descriptionPrefix, pins, envFile, defaults, contracts, registries, packages } = workspace;
  // Also used if it has errors, so that all of its mistakes are reported together.
  const section = nodeAt(root, "gateway");
  return {
    sources: placed(nodeAt(root, "sources")),
    naming,
    descriptionPrefix,
    pins,
    envFile,
    defaults: toDefaults(defaults ?? {}),
    enabledServers: placed(nodeAt(root, "enabled_servers")),
    gateway: withObservation(workspace),
    contracts,
    registries,
    packages,
    gatewayServers: section && serversNamedByGateway(section).flatMap((node) => placed(node) ?? []),
    gatewayTools: section && toolsNamedByGateway(section).flatMap((node) => placed(node) ?? []),
  };
}

/** Telemetry and audit log belong to the gateway, but have sections of their own. */
function withObservation({ gateway, telemetry, audit }: WorkspaceValue): GatewaySettings | undefined {
  if (telemetry === undefined && audit === undefined) return gateway;
  return {
    ...gateway,
    ...(telemetry === undefined ? {} : { telemetry }),
    ...(audit === undefined ? {} : { audit }),
  };
}

function placed(node: TextNode | undefined): PlacedWord[] | undefined {
  if (node === undefined || node.kind === "null") return undefined;
  const items = node.kind === "list" ? node.items : [node];
  return items.flatMap((item) => {
    if (item.kind !== "string" || item.value === "") return [];
    const { line, column, path, value } = item;
    return [{ line, column, path, text: String(value) }];
  });
}
