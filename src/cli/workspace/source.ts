// Source of the servers: the workspace, or, without a config file, the other MCP clients on this computer.

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ClientFiles, ParsedFiles } from "../../catalog/index.ts";
import { type Diagnostic, unknownServer } from "../../errors/index.ts";
import { type ClientId, CLIENTS, type ImportedFile } from "../../formats/clients/index.ts";
import type { WorkspaceConfig } from "../../hub/index.ts";
import { describeCommandRights, type ServerConfig, toCommandLine } from "../../model/index.ts";
import type { Cli, CliIo } from "../context.ts";
import { configError } from "../output/diagnostic.ts";
import { runsServe, servedWorkspace } from "../serve/own-gateway.ts";
import { elsewhereHint, optionFor, withElsewhere } from "./elsewhere.ts";
import { computerOf, pathLabeller, workspaceFolder } from "./folder.ts";

export interface Source {
  /** `clients`: read from the config files of other programs; Portolan stores nothing about these servers. */
  readonly kind: "workspace" | "clients";
  /** The folder or config file that the user named. */
  readonly path: string;
  readonly config: WorkspaceConfig;
  /** The config files as they were read, so that opening the workspace does not parse them again. */
  readonly parsedFiles?: ParsedFiles;
  readonly files: readonly SourceFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** Diagnostics about drivers, contracts and their secrets. Portolan leaves the broken parts out and uses the rest. */
  readonly ofDrivers: readonly Diagnostic[];
  /** Diagnostics about tools, prompts and resources of mcpfiles that are left out. */
  readonly leftOut: readonly Diagnostic[];
  /** In a folder without a config file: how to reach the running gateway of another workspace. */
  readonly elsewhere?: string;
}

interface SourceFile {
  readonly file: string;
  /** `workspace`, `manifest`, or the client's name. */
  readonly format: string;
  readonly servers: readonly string[];
}

/** Throws when a config file has errors. A broken driver, or a broken tool of an mcpfile, is only left out. */
export async function loadSource(cli: Pick<Cli, "io" | "options">): Promise<Source> {
  const path = workspaceFolder(cli.io, cli.options);
  const parsedFiles: ParsedFiles = new Map();
  const catalog = await cli.io.loadCatalog(path, { home: computerOf(cli.io, path).home, parsedFiles });
  const { ofDrivers = [], leftOut = [] } = catalog;
  const { fatalErrors, isUndeclared } = await import("../../catalog/index.ts");
  const fatal = fatalErrors(catalog);
  // Without any server, every error is fatal.
  const errors = catalog.servers.length === 0 ? catalog.diagnostics.filter(isError) : fatal;
  if (errors.length > 0) throw configError(errors, cli);
  if (isUndeclared(catalog) && (await isFolder(path))) {
    const merged = mergeClients(cli, path, await cli.io.importClients(computerOf(cli.io, path)));
    return {
      ...merged,
      config: { ...merged.config, usedPaths: catalog.usedPaths, lock: catalog.lock },
      elsewhere: await elsewhereHint(cli.io, path),
    };
  }
  const { naming, descriptionPrefix, envFile, gateway, packages, registries } = catalog.settings;
  const ownEntries = catalog.servers.filter((server) => servesThis(server, [path, catalog.folder]));
  const servers = catalog.servers
    .filter((server) => !ownEntries.includes(server))
    .map((server) => runIn(server, catalog.folder));
  return {
    kind: "workspace",
    path,
    config: {
      servers,
      naming,
      descriptionPrefix,
      envFile,
      gateway,
      packages,
      registries,
      folder: catalog.folder,
      usedPaths: catalog.usedPaths,
      lock: catalog.lock,
    },
    parsedFiles,
    files: catalog.files.map(({ file, format, aliases }) => ({ file, format, servers: aliases })),
    diagnostics: catalog.diagnostics.filter(
      ({ server }) => server === undefined || !ownEntries.some(({ alias }) => alias === server),
    ),
    ofDrivers,
    leftOut,
  };
}

/** The server with this alias, or else with this name in its mcpfile. */
export function findServer({ config: { servers } }: Source, word: string): ServerConfig | undefined {
  const named = servers.filter((server) => namesInFile(server).includes(word));
  return servers.find(({ alias }) => alias === word) ?? (named.length === 1 ? named[0] : undefined);
}

/** The name that an mcpfile gives its server; the alias may be only a part of it. */
export function namesInFile({ endpoint }: ServerConfig): readonly string[] {
  return endpoint.transport === "invoke" ? [endpoint.server.info.name] : [];
}

/** The server with this alias. Throws an error with the nearest alias when there is none. */
export function requireServer(source: Source, alias: string): ServerConfig {
  const found = source.config.servers.find((server) => server.alias === alias);
  if (found !== undefined) return found;
  const known = source.config.servers.map((server) => server.alias);
  throw withElsewhere(unknownServer(alias, known), source);
}

/** Whether the commands of an mcpfile run in a sandbox, by alias; undefined for other servers. */
export function rightsIn({ config }: Source): (alias: string) => string | undefined {
  return (alias) => {
    const found = config.servers.find((server) => server.alias === alias);
    return found && describeCommandRights(found.endpoint);
  };
}

function runsGateway({ endpoint }: ServerConfig): boolean {
  if (endpoint.transport !== "stdio" || endpoint.kind === "package") return false;
  const { command, args } = toCommandLine(endpoint);
  return runsServe([command, ...args], process.argv[1]);
}

/** An entry that `connect` wrote into a client's file of this workspace: as a server, it would start itself. */
function servesThis({ endpoint }: ServerConfig, paths: readonly string[]): boolean {
  if (endpoint.transport !== "stdio" || endpoint.kind === "package") return false;
  const { command, args } = toCommandLine(endpoint);
  const served = servedWorkspace([command, ...args], process.argv[1]);
  return served !== undefined && paths.some((path) => resolve(path) === resolve(served));
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

/** The config files of other MCP clients that commands use in a folder without a config file, for `validate`. */
export async function clientFiles({ io }: Pick<Cli, "io">, folder: string): Promise<ClientFiles> {
  const found = await io.importClients(computerOf(io, folder));
  const { config, diagnostics } = mergeClients({ io }, folder, found);
  const used = found.filter((one) => one.servers.length > 0 || one.diagnostics.some(isError));
  const files = used.map(({ file, client, servers, diagnostics: own }) => ({
    file,
    format: client,
    aliases: servers.map(({ alias }) => alias),
    valid: !own.some(isError),
  }));
  return { files, servers: config.servers, diagnostics };
}

function mergeClients({ io }: Pick<Cli, "io">, folder: string, found: readonly ImportedFile[]): Source {
  // The config files of a project override those of the user.
  const files = found.toSorted((a, b) => Number(a.scope === "user") - Number(b.scope === "user"));
  const servers = new Map<string, ServerConfig>();
  const diagnostics: Diagnostic[] = [];
  for (const { file, servers: configs, diagnostics: own } of files) {
    diagnostics.push(...own.map((diagnostic) => ({ ...diagnostic, file: diagnostic.file ?? file })));
    for (const server of configs) {
      // The entry that `connect` wrote: its servers are those of another workspace, and starting it would start them twice.
      if (runsGateway(server)) continue;
      const first = servers.get(server.alias);
      if (first === undefined) servers.set(server.alias, runIn(server, folder));
      else if (!isDeepStrictEqual(first.endpoint, runIn(server, folder).endpoint))
        diagnostics.push(shadowed(server, pathLabeller(io)(first.origin.file)));
    }
  }
  return {
    kind: "clients",
    path: folder,
    config: { servers: [...servers.values()].toSorted((a, b) => (a.alias < b.alias ? -1 : 1)), folder },
    files: files.filter((file) => file.servers.length > 0).map(toSourceFile),
    diagnostics,
    ofDrivers: [],
    leftOut: [],
  };
}

function toSourceFile({ file, client, servers }: ImportedFile): SourceFile {
  return { file, format: client, servers: servers.map(({ alias }) => alias) };
}

function shadowed(second: ServerConfig, used: string): Diagnostic {
  const { file, line, column } = second.origin;
  return {
    code: "NAME_AMBIGUOUS",
    severity: "warning",
    server: second.alias,
    message: `${second.alias} is also configured in ${used}, so Portolan uses that entry, and ignores this one`,
    file,
    line,
    column,
    hint: "Give one of the two another name, or remove one.",
  };
}

/** A server without a working directory runs in the folder of its config file, wherever the command runs. */
function runIn(server: ServerConfig, folder: string): ServerConfig {
  const { endpoint } = server;
  if (endpoint.transport !== "stdio" || endpoint.cwd !== undefined) return server;
  return {
    ...server,
    endpoint: { ...endpoint, cwd: folder },
    launch: { ...server.launch, cwdImplied: true },
  };
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Undefined for servers of the user's own config files: their output names the file already. */
export function sourceNote({ kind, path, files, config, elsewhere }: Source, io: CliIo): string | undefined {
  const label = pathLabeller(io);
  const folder = path === io.cwd ? "here" : `in ${label(path)}`;
  const at = optionFor(path, io);
  const other = elsewhere === undefined ? "" : `${elsewhere} `;
  if (config.servers.length === 0)
    return `There are no servers ${folder}. ${other}Add one: portolan add <name>${at} -- <command...>, or portolan add <name> <url>${at}`;
  if (kind === "workspace") return undefined;
  const from = files.map(({ file, format }) => `${titleOf(format)} (${label(file)})`);
  return `There is no config file ${folder}. ${other}These servers come from ${from.join(", ")}; this command only reads these files.`;
}

function titleOf(format: string): string {
  return CLIENTS[format as ClientId]?.title ?? format;
}
