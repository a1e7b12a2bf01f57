// Loads the catalog of a workspace: its own file first, then its sources, merged.

import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import { type ServerConfig, withDefaultSandbox } from "../model/index.ts";
import { serverConfigPaths } from "./files/server-config-file.ts";
import type { DriverMemory } from "./drivers/driver-reader.ts";
import { findDrivers } from "./drivers/drivers.ts";
import type { FormatContext, WorkspaceSettings } from "./formats.ts";
import { mergeServers } from "./merge.ts";
import {
  listedSources,
  secretFiles,
  type SourceFile,
  type Sources,
  usedPaths,
  usualSources,
} from "./files/sources.ts";
import { readSource, type ReadSource } from "./read-source.ts";
import { chooseNaming, finishServers, namesOfInvalid, toSettings } from "./settings.ts";
import { AcceptedFiles } from "./files/accepted-files.ts";
import {
  type Catalog,
  type CatalogFile,
  type CatalogOptions,
  type FoundPackagedDrivers,
  LOCK_NAME,
  type LockText,
  OWN_NAMES,
  type ParsedFiles,
} from "./types.ts";

/** Files and folders to watch for changes of the catalog. */
export interface WatchPlan {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

export interface Loaded {
  readonly catalog: Catalog;
  /** True if the workspace's own file has an error, and the settings are those of its last valid text. */
  readonly isEarlier: boolean;
  /** True if that error is that the file does not exist any more, or is empty. */
  readonly isGone: boolean;
  readonly plan: WatchPlan;
}

/** Reads the workspace in `folder`, or a single config file as a workspace. Errors in files become diagnostics. */
export async function loadCatalog(folder: string, options: CatalogOptions = {}): Promise<Catalog> {
  return (await load(folder, options, createMemory(options))).catalog;
}

/** Commands of an mcpfile outside of the workspace run in a sandbox, whatever the file says: others may have written it. */
export function sandboxedOutside(server: ServerConfig, top: string): ServerConfig {
  const { endpoint, origin } = server;
  if (endpoint.transport !== "invoke" || !relative(top, origin.file).startsWith("..")) return server;
  return { ...server, endpoint: { ...endpoint, server: withDefaultSandbox(endpoint.server) } };
}

/** The last valid state of each file, which replaces an invalid one. One watch has one memory. */
export interface Memory {
  readonly files: ParsedFiles;
  readonly drivers: DriverMemory;
}

export function createMemory({ parsedFiles = new Map() }: CatalogOptions): Memory {
  return { files: parsedFiles, drivers: new Map() };
}

/** `accepted` decides which changes are used. */
export async function load(
  folder: string,
  options: CatalogOptions,
  memory: Memory,
  accepted: AcceptedFiles = new AcceptedFiles(undefined),
): Promise<Loaded> {
  const { top, single, diagnostics } = await findWorkspace(folder, memory.files);
  const context = { ...options, folder: top };
  const only = onlyDriver(single);
  const own =
    single === undefined
      ? await readOwn(top, context, memory, accepted, diagnostics)
      : only === undefined
        ? await readSource({ ...single, isOwn: true }, undefined, context, memory.files, accepted.read)
        : undefined;
  const settings: WorkspaceSettings = own?.parsed?.workspace ?? {
    defaults: {},
    gateway: own?.parsed?.gateway,
  };
  const sources = await findSources(top, single, own, options.home);
  diagnostics.push(...sources.diagnostics);
  const read = await Promise.all(
    sources.files.map((source) => readSource(source, own?.file, context, memory.files, accepted.read)),
  );
  const all = own === undefined ? read : [own, ...read];
  diagnostics.push(...all.flatMap((source) => source.diagnostics), ...read.flatMap(unfollowed));
  const merged = mergeServers(all.map((source) => absoluteFolders(source)));
  diagnostics.push(...merged.diagnostics);
  const naming = chooseNaming(settings, all, diagnostics);
  const lockFile = join(top, LOCK_NAME);
  const lock = await readLockText(lockFile, accepted);
  const packaged = await findPackaged(lock, options, () =>
    finishServers(merged.servers, settings, own?.file, []),
  );
  const drivers = await findDrivers(top, settings.contracts ?? {}, memory.drivers, {
    ...{ only, read: accepted.read, packaged: packaged.drivers },
  });
  const ofDrivers = [...packaged.diagnostics, ...drivers.diagnostics];
  const declared = withContracts(merged.servers, drivers.server, ofDrivers);
  diagnostics.push(...ofDrivers, ...accepted.finish());
  const unknown: Diagnostic[] = [];
  const invalid = namesOfInvalid(all.flatMap((source) => source.diagnostics));
  const servers = finishServers(declared, settings, own?.file, unknown, invalid).map((server) =>
    sandboxedOutside(server, top),
  );
  const isEarlier = own?.isEarlier === true;
  // The last valid text may name servers that the present one does not name.
  if (!isEarlier) diagnostics.push(...unknown);
  const catalog = {
    folder: top,
    servers,
    settings: toSettings(settings, naming, top),
    files: [...listFiles(all), ...drivers.files.map((file) => ({ ...file, aliases: [] }))],
    diagnostics,
    namesUnknownServers: unknown.some(({ severity }) => severity === "error") ? true : undefined,
    ofDrivers,
    leftOut: all.flatMap(({ parsed, valid }) => (valid ? [] : (parsed?.leftOut ?? []))),
  };
  const names = single === undefined ? OWN_NAMES.map((name) => join(top, name)) : [single.file];
  const files = [
    ...names,
    lockFile,
    ...sources.files.map(({ file }) => file),
    ...drivers.files.map(({ file }) => file),
    ...drivers.missing,
  ];
  const plan = {
    files: files.flatMap((file) => [file, ...serverConfigPaths(file)]),
    folders: [...sources.folders, ...drivers.folders],
  };
  const { envFile, gateway } = catalog.settings;
  const { tls, audit } = gateway ?? {};
  const others = [envFile, tls?.cert, tls?.key, audit?.folder, audit?.anchors];
  const used = [...plan.files, ...drivers.beside, ...others];
  const whole = {
    ...catalog,
    lock,
    usedPaths: usedPaths(top, single === undefined, used, secretFiles(catalog.settings, top)),
  };
  return { catalog: whole, isEarlier, isGone: own?.gone !== undefined, plan };
}

/** Most workspaces have no driver of a package, and their lock file names no contracts. */
async function findPackaged(
  lock: LockText | undefined,
  { packagedDrivers }: CatalogOptions,
  servers: () => readonly ServerConfig[],
): Promise<FoundPackagedDrivers> {
  if (packagedDrivers === undefined || lock?.text?.includes('"contracts"') !== true)
    return { drivers: [], diagnostics: [] };
  return packagedDrivers(servers(), lock);
}

/** The lock file is read like a config file: a change that a server may have made from its sandbox is ignored. */
export async function readLockText(
  file: string,
  accepted: Pick<AcceptedFiles, "read">,
): Promise<LockText | undefined> {
  const found = await accepted.read(file);
  if (found.kind === "missing") return undefined;
  return found.kind === "text" ? { file, text: found.text } : { file, problem: found.message };
}

function onlyDriver(single: SourceFile | undefined): string | undefined {
  return single !== undefined && /(?:^|[\\/])DRIVER\.md$/.test(single.file) ? single.file : undefined;
}

/** Adds the contracts as one more server. A server with the same alias keeps it. */
function withContracts(
  servers: readonly ServerConfig[],
  contracts: ServerConfig | undefined,
  diagnostics: Diagnostic[],
): readonly ServerConfig[] {
  if (contracts === undefined) return servers;
  const taken = servers.find(({ alias }) => alias === contracts.alias);
  if (taken === undefined) return mergeServers([servers, [contracts]]).servers;
  const { file, line, column } = taken.origin;
  const { alias } = contracts;
  const message = `the server ${alias} uses the alias that is reserved for contracts, so Portolan offers no contracts and uses no drivers`;
  const hint = `Rename the server ${alias}.`;
  diagnostics.push({
    code: "NAME_AMBIGUOUS",
    severity: "error",
    server: alias,
    message,
    file,
    line,
    column,
    hint,
  });
  return servers;
}

/** A path to a file means a workspace of this one config file. */
async function findWorkspace(
  path: string,
  known: ParsedFiles,
): Promise<{ readonly top: string; readonly single?: SourceFile; readonly diagnostics: Diagnostic[] }> {
  const full = resolve(path);
  const stats = await stat(full).catch(() => undefined);
  if (stats?.isDirectory() === true) return { top: full, diagnostics: [] };
  if (stats !== undefined || known.has(full)) {
    const named = { text: path, line: 1, column: 1, path: [] };
    const folder = dirname(full);
    // A driver in `.drivers` belongs to the workspace around it.
    const top = basename(dirname(folder)) === ".drivers" ? dirname(dirname(folder)) : folder;
    return { top, single: { file: full, named }, diagnostics: [] };
  }
  const hint = "A workspace is a folder with config files, or one config file.";
  const message = "there is no such folder or file";
  return {
    top: full,
    diagnostics: [{ code: "FILE_FAILED", severity: "error", message, file: full, hint }],
  };
}

async function findSources(
  top: string,
  single: SourceFile | undefined,
  own: ReadSource | undefined,
  home: string | undefined,
): Promise<Sources> {
  const listed = own?.parsed?.workspace?.sources;
  if (listed !== undefined && own !== undefined) return listedSources(top, own.file, listed, home);
  const isConfigFile = single !== undefined && own?.parsed?.workspace === undefined;
  return isConfigFile ? { files: [], folders: [], diagnostics: [] } : usualSources(top, home);
}

/** The file of another workspace contributes its servers only. */
function unfollowed({ file, parsed }: ReadSource): Diagnostic[] {
  if (parsed?.workspace?.sources === undefined) return [];
  const [{ line, column } = {}] = parsed.workspace.sources;
  const message = `Portolan ignores the sources that ${file} lists`;
  const hint = "List these sources in the portolan.yaml of the workspace.";
  return [{ code: "FILE_INVALID", severity: "warning", message, file, line, column, hint }];
}

async function readOwn(
  folder: string,
  context: FormatContext,
  memory: Memory,
  accepted: AcceptedFiles,
  diagnostics: Diagnostic[],
): Promise<ReadSource | undefined> {
  const found: ReadSource[] = [];
  for (const name of OWN_NAMES) {
    const source: SourceFile = { file: join(folder, name), isOwn: true };
    const read = await readSource(source, undefined, context, memory.files, accepted.read);
    if (read.parsed !== undefined || read.diagnostics.length > 0) found.push(read);
  }
  const present = found.filter(({ gone }) => gone !== "missing");
  // A file that was renamed to the other name is not missed.
  if (present.length > 0)
    for (const { file, gone } of found) if (gone === "missing") memory.files.delete(file);
  const [first, second] = present.length > 0 ? present : found;
  if (first !== undefined && second !== undefined)
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "warning",
      message: `Portolan uses ${first.file} and ignores ${second.file}`,
      file: second.file,
      hint: "Keep one of the two files.",
    });
  return first;
}

/** A relative `cwd` starts at the folder of its file. Files such as `.cursor/mcp.json` belong to the folder above. */
export function absoluteFolders({ file, parsed }: Pick<ReadSource, "file" | "parsed">): ServerConfig[] {
  const folder = dirname(file);
  const base = /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
  return (parsed?.servers ?? []).map((server) => {
    const { endpoint } = server;
    if (endpoint.transport !== "stdio" || endpoint.cwd === undefined || /^[~$]/.test(endpoint.cwd))
      return server;
    return { ...server, endpoint: { ...endpoint, cwd: resolve(base, endpoint.cwd) } };
  });
}

function listFiles(all: readonly ReadSource[]): CatalogFile[] {
  return all.flatMap(({ file, parsed, valid }) =>
    parsed === undefined
      ? []
      : [{ file, format: parsed.format, aliases: parsed.servers.map(({ alias }) => alias), valid }],
  );
}
