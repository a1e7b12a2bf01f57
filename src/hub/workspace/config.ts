// Workspace config: the servers and settings that a hub is opened with, from the config files or from a program.

import {
  type Catalog,
  fatalErrors,
  type LockText,
  type ManifestInput,
  readProgramConfig,
  type UsedPaths,
  type WorkspaceInput,
} from "../../catalog/index.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import {
  type GatewaySettings,
  isObject,
  type PackagePolicy,
  type RegistrySetting,
  type ServerConfig,
} from "../../model/index.ts";

/** The servers of a workspace as Portolan has read them. A program writes `WorkspaceFields` instead. */
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
  readonly usedPaths?: UsedPaths | undefined;
}

/**
 * The fields of portolan.yaml except `contracts`, passed by a program. Each has the name, the meaning and the checks that it has in
 * the file. Portolan reads no other config file, unless `sources` names it.
 */
export interface WorkspaceFields extends WorkspaceInput {
  /** The folder that paths are relative to, with the lock file. Default: the working folder, without a lock file. */
  readonly folder?: string | undefined;
}

/** A bridge manifest, passed by a program. */
export interface BridgeManifest extends ManifestInput {
  /** The folder that paths are relative to. Default: the working folder. */
  readonly folder?: string | undefined;
}

/** The source of a workspace: a folder, a config file, or the config itself. */
export type WorkspaceSource = string | WorkspaceFields | BridgeManifest;

/** A source of Portolan's own code, which can be a config that was read before. */
export type AnyWorkspaceSource = WorkspaceSource | WorkspaceConfig;

/** Checks the config of a program. Throws CONFIG_INVALID with all errors at once. */
export async function readConfig(
  config: Exclude<AnyWorkspaceSource, string>,
  report: (diagnostic: Diagnostic) => void,
): Promise<WorkspaceConfig> {
  if (isChecked(config)) return config;
  if (!isObject(config))
    throw new PortolanError(
      "CONFIG_INVALID",
      "a workspace must be the path of a folder or file, or an object { servers: { … } }",
      {
        hint: "Give each server the same fields as in portolan.yaml: command and args, or url.",
      },
    );
  if (config.folder !== undefined && typeof config.folder !== "string")
    throw new PortolanError("CONFIG_INVALID", "folder must be the path of a folder, as a string");
  const { folder, ...fields } = config;
  const catalog = await readProgramConfig(fields, folder);
  for (const diagnostic of catalog.diagnostics) report(diagnostic);
  const { naming, descriptionPrefix, envFile, gateway, packages, registries } = catalog.settings;
  return {
    servers: catalog.servers.map((server) => inWorkspaceFolder(server, catalog.folder)),
    ...{ naming, descriptionPrefix, envFile, gateway, packages, registries },
    folder: catalog.folder,
    usedPaths: catalog.usedPaths,
    lock: catalog.lock,
  };
}

/** True for server configs that were read before, by Portolan or by the program itself. */
function isChecked(config: Exclude<AnyWorkspaceSource, string>): config is WorkspaceConfig {
  const servers: unknown = isObject(config) ? config.servers : undefined;
  const isServer = (server: unknown): boolean =>
    isObject(server) &&
    typeof server.alias === "string" &&
    isObject(server.endpoint) &&
    isObject(server.origin);
  return Array.isArray(servers) && servers.every(isServer);
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
