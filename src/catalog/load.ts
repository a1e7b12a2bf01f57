// A workspace's catalog from its folder: own file first, then its sources, merged.

import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import { finishServers } from "./finish.ts";
import type { FormatContext, WorkspaceSettings } from "./formats.ts";
import { mergeServers } from "./merge.ts";
import { type Memory, readSource, type ReadSource } from "./read-source.ts";
import { listedSources, type SourceFile, usualSources } from "./sources.ts";
import {
  type Catalog,
  type CatalogFile,
  type CatalogOptions,
  type CatalogSettings,
  OWN_NAMES,
} from "./types.ts";

/** What to watch so that no change of the catalog is missed. */
export interface WatchPlan {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

export interface Loaded {
  readonly catalog: Catalog;
  readonly plan: WatchPlan;
}

/** Reads the workspace in `folder`. Never throws for what a file says or does not say: that is among the diagnostics. */
export async function loadCatalog(folder: string, options: CatalogOptions = {}): Promise<Catalog> {
  return (await load(folder, options, new Map())).catalog;
}

/** `memory` holds the last good state of each file, used in place of a bad one, and is brought up to date. */
export async function load(folder: string, options: CatalogOptions, memory: Memory): Promise<Loaded> {
  const top = resolve(folder);
  const context = { ...options, folder: top };
  const diagnostics: Diagnostic[] = [];
  if (!(await isFolder(top)))
    diagnostics.push({
      code: "FILE_FAILED",
      severity: "error",
      message: `${top} is not a folder`,
      file: top,
      hint: "A workspace is a folder with declarations in it.",
    });
  const own = await readOwn(top, context, memory, diagnostics);
  const settings: WorkspaceSettings = own?.parsed?.workspace ?? { defaults: {} };
  const listed = settings.sources;
  const sources =
    listed === undefined || own === undefined
      ? usualSources(top)
      : await listedSources(top, own.file, listed, options.home);
  diagnostics.push(...sources.diagnostics);
  const read = await Promise.all(
    sources.files.map((source) => readSource(source, own?.file, context, memory)),
  );
  const all = own === undefined ? read : [own, ...read];
  diagnostics.push(...all.flatMap((source) => source.diagnostics));
  const merged = mergeServers(all.map((source) => absoluteFolders(source)));
  diagnostics.push(...merged.diagnostics);
  const naming = chooseNaming(settings, read, diagnostics);
  const servers = finishServers(merged.servers, settings, own?.file, diagnostics);
  const catalog = {
    folder: top,
    servers,
    settings: toSettings(settings, naming, top),
    files: listFiles(all),
    diagnostics,
  };
  const names = OWN_NAMES.map((name) => join(top, name));
  return {
    catalog,
    plan: { files: [...names, ...sources.files.map(({ file }) => file)], folders: sources.folders },
  };
}

async function readOwn(
  folder: string,
  context: FormatContext,
  memory: Memory,
  diagnostics: Diagnostic[],
): Promise<ReadSource | undefined> {
  const found: ReadSource[] = [];
  for (const name of OWN_NAMES) {
    const source: SourceFile = { file: join(folder, name) };
    const read = await readSource(source, undefined, context, memory);
    if (read.parsed !== undefined || read.diagnostics.length > 0) found.push(read);
  }
  const [first, second] = found;
  if (first !== undefined && second !== undefined)
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "warning",
      message: `${first.file} is used, ${second.file} is not`,
      file: second.file,
      hint: "Keep one of the two files.",
    });
  return first;
}

/** A relative `cwd` starts at the file that names it; `.cursor/mcp.json` and its like speak for the folder above them. */
function absoluteFolders({ file, parsed }: ReadSource): DeclaredServer[] {
  const folder = dirname(file);
  const base = /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
  return (parsed?.servers ?? []).map((server) => {
    const { endpoint } = server;
    if (endpoint.transport !== "stdio" || endpoint.cwd === undefined || /^[~$]/.test(endpoint.cwd))
      return server;
    return { ...server, endpoint: { ...endpoint, cwd: resolve(base, endpoint.cwd) } };
  });
}

function chooseNaming(
  settings: WorkspaceSettings,
  read: readonly ReadSource[],
  diagnostics: Diagnostic[],
): string | undefined {
  if (settings.naming !== undefined) return settings.naming;
  const naming = read.flatMap(({ file, parsed }) => {
    const template = parsed?.manifest?.naming;
    return template === undefined ? [] : [{ file, template }];
  });
  const [first] = naming;
  const other = naming.find(({ template }) => template !== first?.template);
  if (first !== undefined && other !== undefined)
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "warning",
      message: `naming is ${first.template} in ${first.file}, and ${other.template} in ${other.file}; the first is used`,
      file: other.file,
      hint: "Say naming once, in portolan.yaml.",
    });
  return first?.template;
}

function toSettings(
  settings: WorkspaceSettings,
  naming: string | undefined,
  folder: string,
): CatalogSettings {
  return {
    naming,
    descriptionPrefix: settings.descriptionPrefix,
    envFile: settings.envFile === undefined ? undefined : resolve(folder, settings.envFile),
    defaults: settings.defaults,
  };
}

function listFiles(all: readonly ReadSource[]): CatalogFile[] {
  return all.flatMap(({ file, parsed, valid }) =>
    parsed === undefined
      ? []
      : [{ file, format: parsed.format, aliases: parsed.servers.map(({ alias }) => alias), valid }],
  );
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
