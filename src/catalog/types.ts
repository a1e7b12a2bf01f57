// What a catalog is: the servers of a workspace, merged, with where each came from.

import type { Diagnostic } from "../errors/index.ts";
import type { DeclaredServer, GatewaySettings } from "../model/index.ts";
import type { UsedPaths } from "./files/config-paths.ts";
import type { ParseClientFile, ServerDefaults } from "./formats.ts";
import type { WriterOf } from "./files/taken.ts";

export interface Catalog {
  /** Absolute. */
  readonly folder: string;
  /** Sorted by alias, each alias once, the workspace's defaults filled in. */
  readonly servers: readonly DeclaredServer[];
  readonly settings: CatalogSettings;
  readonly files: readonly CatalogFile[];
  /** The paths that it was read from. */
  readonly usedPaths: UsedPaths;
  readonly diagnostics: readonly Diagnostic[];
  /** Those among them that are about drivers, contracts and their secrets: what is wrong there is left out by itself, and harms nothing else. */
  readonly ofDrivers?: readonly Diagnostic[] | undefined;
  /** Diagnostics among them because of which single tools, prompts and resources of mcpfiles are left out. */
  readonly leftOut?: readonly Diagnostic[] | undefined;
}

export interface CatalogSettings {
  /** Such as `mcp_{alias}_{tool}`. */
  readonly naming?: string | undefined;
  readonly descriptionPrefix?: boolean | string | undefined;
  /** Absolute. */
  readonly envFile?: string | undefined;
  /** Already filled into the servers. */
  readonly defaults: ServerDefaults;
  /** Its files are absolute. */
  readonly gateway?: GatewaySettings | undefined;
}

/** One declaration that was read. */
export interface CatalogFile {
  /** Absolute. */
  readonly file: string;
  /** `workspace`, `manifest`, `mcpfile`, or the client's name. */
  readonly format: string;
  readonly aliases: readonly string[];
  /** False when it has errors. While watching, what it declared before then stays in use. */
  readonly valid: boolean;
}

export interface CatalogOptions {
  /** What `~/` stands for in `sources`; the user's home folder unless told. */
  readonly home?: string | undefined;
  /** Which server may have written a file from its sandbox: while watching, such a change is told and not taken. */
  readonly writerOf?: WriterOf | undefined;
  /** Reads the files of other MCP clients; our own reader unless told. */
  readonly parseClientFile?: ParseClientFile | undefined;
}

/** The names under which declarations are found without being listed, in order of precedence. */
export const OWN_NAMES: readonly string[] = ["portolan.yaml", "portolan.yml"];
export const USUAL_NAMES: readonly string[] = [
  "manifest.yaml",
  "manifest.yml",
  "mcpfile.yaml",
  "mcpfile.yml",
  ".mcp.json",
  "mcp.json",
  ".cursor/mcp.json",
  ".vscode/mcp.json",
];
