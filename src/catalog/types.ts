// Catalog: the merged servers of a workspace, its settings, files and diagnostics, and which of its errors are fatal.

import type { Diagnostic } from "../errors/index.ts";
import type {
  GatewaySettings,
  PackagePolicy,
  PinMode,
  RegistrySetting,
  ServerConfig,
} from "../model/index.ts";
import type { WriterOf } from "./files/accepted-files.ts";
import type { UsedPaths } from "./files/sources.ts";
import type { ParseClientFile, ParsedFile, ServerDefaults } from "./formats.ts";

export interface Catalog {
  /** The path is absolute. */
  readonly folder: string;
  /** Servers sorted by alias, with the defaults of the workspace applied. Each alias is unique. */
  readonly servers: readonly ServerConfig[];
  readonly settings: CatalogSettings;
  readonly files: readonly CatalogFile[];
  /** The paths that it was read from. */
  readonly usedPaths: UsedPaths;
  /** The lock file, unparsed; absent if there is none. */
  readonly lock?: LockText;
  readonly diagnostics: readonly Diagnostic[];
  /** True if the settings name a server that does not exist. While watching, the state from before stays in use. */
  readonly namesUnknownServers?: boolean;
  /** The diagnostics about drivers, contracts and their secrets. A driver with an error is left out; everything else works. */
  readonly ofDrivers?: readonly Diagnostic[];
  /** The diagnostics because of which single tools, prompts and resources of mcpfiles are left out. */
  readonly leftOut?: readonly Diagnostic[];
}

/** The text of the lock file, or the reason why it cannot be read. */
export interface LockText {
  readonly file: string;
  readonly text?: string;
  readonly problem?: string;
}

export interface CatalogSettings {
  /** Template such as `mcp_{alias}_{tool}`. */
  readonly naming?: string;
  readonly descriptionPrefix?: boolean | string;
  /** Applied to the servers already. */
  readonly pins?: PinMode;
  /** The path is absolute. */
  readonly envFile?: string;
  /** Defaults, which are already applied to the servers. */
  readonly defaults: ServerDefaults;
  /** The paths in it are absolute. */
  readonly gateway?: GatewaySettings;
  /** The paths in it are absolute. */
  readonly registries?: readonly RegistrySetting[];
  readonly packages?: PackagePolicy;
}

/** One config file that was read. */
export interface CatalogFile {
  /** The path is absolute. */
  readonly file: string;
  /** `workspace`, `manifest`, `mcpfile`, or the name of a client. */
  readonly format: string;
  readonly aliases: readonly string[];
  /** False if the file has errors. While watching, its last valid content stays in use. */
  readonly valid: boolean;
}

/** A driver that a package brings: its files as texts, and the server that runs it. */
export interface PackagedDriver {
  /** The server of portolan.yaml. */
  readonly server: ServerConfig;
  /** `@user/name@1.2.3`, for messages. */
  readonly label: string;
  /** DRIVER.md and tools/<id>/TOOL.md. */
  readonly files: Readonly<Record<string, string>>;
}

export interface FoundPackagedDrivers {
  readonly drivers: readonly PackagedDriver[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Finds the drivers of packages that are installed. Uses no network. */
export type FindPackagedDrivers = (
  servers: readonly ServerConfig[],
  lock: LockText,
) => Promise<FoundPackagedDrivers>;

/** The last valid state of each file by absolute path. The text includes that of the mcpserver file beside it. */
export type ParsedFiles = Map<string, { readonly text: string; readonly parsed: ParsedFile }>;

export interface CatalogOptions {
  /** Without it, drivers of packages are not used. */
  readonly packagedDrivers?: FindPackagedDrivers;
  /** Folder for `~/` in `sources`. The default is the user's home folder. */
  readonly home?: string;
  /** Returns the server that may have written a file from its sandbox. While watching, such a change is reported and ignored. */
  readonly writerOf?: WriterOf;
  /** Parser of the files of other MCP clients. The default is our own. */
  readonly parseClientFile?: ParseClientFile;
  /** Files that an earlier load has parsed; a file with the same text is not parsed again. Loading adds to it. */
  readonly parsedFiles?: ParsedFiles;
}

/** Names of config files that are found without being listed, in order of precedence. */
export const OWN_NAMES: readonly string[] = ["portolan.yaml", "portolan.yml"];
/** The lock file, which Portolan itself writes. */
export const LOCK_NAME = "portolan.lock";
/** Cursor has a file of this name in the home folder too, for all projects. */
export const CURSOR_NAME = ".cursor/mcp.json";
export const USUAL_NAMES: readonly string[] = [
  "manifest.yaml",
  "manifest.yml",
  "mcpfile.yaml",
  "mcpfile.yml",
  ".mcp.json",
  "mcp.json",
  CURSOR_NAME,
  ".vscode/mcp.json",
];

/** Errors that stop the work. Errors in a driver or in a tool of an mcpfile are not fatal as long as other tools remain. */
export function fatalErrors({ diagnostics, ofDrivers = [], leftOut = [], servers }: Catalog): Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const partial = new Set([...ofDrivers, ...leftOut]);
  const fatal = errors.filter((error) => !partial.has(error));
  // All errors are reported at once, the fatal ones first.
  if (fatal.length > 0) return [...fatal, ...errors.filter((error) => leftOut.includes(error))];
  return leftOut.length > 0 && servers.every(isEmpty) ? errors : [];
}

function isEmpty({ endpoint }: ServerConfig): boolean {
  if (endpoint.transport !== "invoke") return false;
  const { tools, prompts, resources, resourceTemplates } = endpoint.server;
  return [tools, prompts, resources, resourceTemplates].every(({ length }) => length === 0);
}
