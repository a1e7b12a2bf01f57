// Workspace config: the servers and settings that a hub is opened with, from the config files or from a program.

import { type Catalog, fatalErrors, type LockText, type UsedPaths } from "../../catalog/index.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import {
  type GatewaySettings,
  isObject,
  type PackagePolicy,
  type RegistrySetting,
  type ServerConfig,
} from "../../model/index.ts";

/** The servers of a program, in place of a folder. */
export interface WorkspaceConfig {
  readonly servers: readonly ServerConfig[];
  readonly naming?: string;
  readonly descriptionPrefix?: boolean | string;
  readonly envFile?: string;
  readonly gateway?: GatewaySettings;
  /** The policy for packages. */
  readonly packages?: PackagePolicy;
  /** The registries of packages, with references to their tokens. */
  readonly registries?: readonly RegistrySetting[];
  /** The folder that paths and references are relative to. */
  readonly folder?: string;
  /** The lock file, with the approved definitions of tools. */
  readonly lock?: LockText;
  /** The config files that it was read from, which no server may write. */
  readonly usedPaths?: UsedPaths;
}

/** Checks the config of a program, which no parser has checked. */
export function checkConfig(config: WorkspaceConfig): WorkspaceConfig {
  const servers: unknown = (config as WorkspaceConfig | null)?.servers;
  const isServer = (server: unknown): boolean =>
    isObject(server) &&
    typeof server.alias === "string" &&
    isObject(server.endpoint) &&
    isObject(server.origin);
  if (Array.isArray(servers) && servers.every(isServer)) return config;
  throw new PortolanError(
    "CONFIG_INVALID",
    "a workspace is a folder, a file, or { servers: ServerConfig[] }",
    {
      hint: "Each server has an alias, an origin, an endpoint and enabled.",
    },
  );
}

export function fromCatalog(catalog: Catalog, report: (diagnostic: Diagnostic) => void): WorkspaceConfig {
  const errors = fatalErrors(catalog);
  const [first] = errors;
  if (first !== undefined) {
    const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more)`;
    const line = first.line === undefined ? "" : `:${first.line}`;
    const where = first.file === undefined ? "" : `${first.file}${line}: `;
    throw new PortolanError("FILE_INVALID", `${where}${first.message}${more}`, {
      hint: first.hint,
      data: { diagnostics: errors },
    });
  }
  for (const diagnostic of catalog.diagnostics) report(diagnostic);
  const { naming, descriptionPrefix, envFile, gateway, packages, registries } = catalog.settings;
  const servers = catalog.servers.map((server) => inWorkspaceFolder(server, catalog.folder));
  const { folder, usedPaths, lock } = catalog;
  const settings = { naming, descriptionPrefix, envFile, gateway, packages, registries };
  return { servers, ...settings, folder, usedPaths, lock };
}

/** A program without a `cwd` runs in the workspace folder, wherever the caller is. */
export function inWorkspaceFolder(server: ServerConfig, folder: string): ServerConfig {
  const { endpoint } = server;
  if (endpoint.transport !== "stdio" || endpoint.cwd !== undefined) return server;
  return {
    ...server,
    endpoint: { ...endpoint, cwd: folder },
    launch: { ...server.launch, cwdImplied: true },
  };
}
