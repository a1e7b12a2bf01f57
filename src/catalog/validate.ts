// Validates config files of any format, for `portolan validate`.

import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import { readJson, toPlain } from "../formats/document/index.ts";
import { looksLikePackage, parsePackage } from "../formats/package/index.ts";
import type { ServerConfig } from "../model/index.ts";
import { CONTRACTS_ALIAS } from "./drivers/drivers.ts";
import { readConfigFile } from "./files/read-file.ts";
import { loadCatalog } from "./load.ts";
import { readSource } from "./read-source.ts";
import { isUndeclared } from "./files/sources.ts";
import {
  type CatalogFile,
  type CatalogOptions,
  type CatalogSettings,
  OWN_NAMES,
  USUAL_NAMES,
} from "./types.ts";
import {
  type CheckedDrivers,
  checkDriverFiles,
  driverFilesIn,
  type DriversToBind,
  foreignDrivers,
  isDriverFile,
  sharedFiles,
} from "./drivers/validate-drivers.ts";

export interface Validation {
  /** False if there is an error. */
  readonly valid: boolean;
  readonly files: readonly CatalogFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** The workspaces found in the checked paths, at most one per path. */
  readonly workspaces: readonly CheckedWorkspace[];
  /** Drivers of the workspaces. Their bindings are not compared with contracts here. */
  readonly bind: readonly DriversToBind[];
}

export interface CheckedWorkspace {
  readonly folder: string;
  readonly servers: readonly ServerConfig[];
  /** Undefined for a single file. */
  readonly settings?: CatalogSettings;
}

/** Config files of other MCP clients that are used for a folder. */
export interface ClientFiles {
  readonly files: readonly CatalogFile[];
  readonly servers: readonly ServerConfig[];
  readonly diagnostics: readonly Diagnostic[];
}

interface ValidateOptions extends CatalogOptions {
  /** Finds the files that a folder without config files gets its servers from. */
  readonly clientFiles?: (folder: string) => Promise<ClientFiles>;
}

/** Validates files by their format, and folders as workspaces or as parts of one. */
export async function validateFiles(
  paths: readonly string[],
  options: ValidateOptions = {},
): Promise<Validation> {
  const results = await Promise.all(paths.map((path) => validatePath(resolve(path), path, options)));
  const files = results.flatMap((result) => result.files);
  const diagnostics = results.flatMap((result) => result.diagnostics);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  // An error that shows only in the merged catalog makes its file invalid.
  const wrong = new Set(errors.map(({ file }) => file));
  return {
    valid: errors.length === 0,
    files: files.map((one) => ({ ...one, valid: one.valid && !wrong.has(one.file) })),
    diagnostics,
    workspaces: results.flatMap((result) => result.workspaces),
    bind: results.flatMap((result) => result.bind),
  };
}

async function validatePath(
  path: string,
  written: string,
  options: ValidateOptions,
): Promise<Omit<Validation, "valid">> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return nothing(failed(path, `${written} does not exist`, "Correct the path."));
  if (stats.isDirectory()) {
    const { workspace, checked } = await validateFolder(path, options);
    const found = { ...join(checked), workspaces: [workspace] };
    const { files, diagnostics } = found;
    const isLeft = checked.length === 1 && isUndeclared({ servers: workspace.servers, files });
    if (isLeft && !diagnostics.some(({ severity }) => severity === "error")) {
      const clients = await options.clientFiles?.(path);
      if (clients !== undefined && clients.files.length > 0)
        return {
          files: [...files, ...clients.files],
          diagnostics: [...diagnostics, ...clients.diagnostics],
          workspaces: [{ ...workspace, servers: clients.servers }],
          bind: found.bind,
        };
    }
    if (files.length > 0 || diagnostics.length > 0) return found;
    const hint = `The usual names are ${[...OWN_NAMES, ...USUAL_NAMES].join(", ")}, and .drivers/<id>/DRIVER.md.`;
    return nothing(failed(path, `${written} contains no config file`, hint));
  }
  const ofPackage = await validatePackage(path);
  if (ofPackage !== undefined) return ofPackage;
  if (isDriverFile(path)) return join([await checkDriverFiles([path])]);
  const named = { text: written, line: 1, column: 1, path: [] };
  const { parsed, diagnostics, valid } = await readSource(
    { file: path, named },
    undefined,
    options,
    new Map(),
  );
  if (parsed === undefined) return { files: [], diagnostics, workspaces: [], bind: [] };
  const aliases = parsed.servers.map(({ alias }) => alias);
  const files = [{ file: path, format: parsed.format, aliases, valid }];
  const workspaces = [{ folder: dirname(path), servers: parsed.servers }];
  return { files, diagnostics, workspaces, bind: [] };
}

/** The metadata of a package, by the rules for publishing it. Undefined for any other file. */
async function validatePackage(file: string): Promise<Omit<Validation, "valid"> | undefined> {
  if (!/\.jsonc?$/i.test(file)) return undefined;
  const read = await readConfigFile(file);
  if (read.kind !== "text") return undefined;
  const { root } = readJson(read.text, file);
  const isNamed = /^mcp-package\.jsonc?$/i.test(basename(file));
  if (!isNamed && (root === undefined || !looksLikePackage(toPlain(root)))) return undefined;
  // The registry sets the date, and an upload sets the URL.
  const setLater = ["publishedAt", "url"] as const;
  const { metadata, diagnostics } = parsePackage(read.text, file, { mode: "strict", setLater });
  const files = [{ file, format: "package", aliases: [], valid: metadata !== undefined }];
  return { files, diagnostics, workspaces: [], bind: [] };
}

/** Validates a folder as a workspace, and also its drivers and contracts that the workspace would not read. */
async function validateFolder(
  path: string,
  options: CatalogOptions,
): Promise<{ readonly workspace: CheckedWorkspace; readonly checked: CheckedDrivers[] }> {
  const { folder, files, diagnostics, servers, settings } = await loadCatalog(path, options);
  const endpoint = servers.find(({ alias }) => alias === CONTRACTS_ALIAS)?.endpoint;
  const { drivers, contracts, secrets } =
    endpoint?.transport === "contracts" ? endpoint : { drivers: [], contracts: [], secrets: [] };
  const around = { drivers, secrets, foreign: foreignDrivers(files, drivers) };
  const whole = { files, diagnostics, bind: { drivers, contracts, around, root: path, isWhole: true } };
  const known = new Set(files.map(({ file }) => file));
  const more =
    files.length === 0
      ? [...(await driverFilesIn(path)), ...(await sharedFiles(path))]
      : await sharedFiles(path);
  const wanted = [...new Set(more)].filter((file) => !known.has(file));
  const workspace = { folder, servers, settings };
  return { workspace, checked: wanted.length === 0 ? [whole] : [whole, await checkDriverFiles(wanted)] };
}

function join(found: readonly CheckedDrivers[]): Omit<Validation, "valid"> {
  return {
    files: found.flatMap(({ files }) => files),
    diagnostics: found.flatMap(({ diagnostics }) => diagnostics),
    workspaces: [],
    bind: found.map(({ bind }) => bind),
  };
}

function nothing(diagnostic: Diagnostic): Omit<Validation, "valid"> {
  return { files: [], diagnostics: [diagnostic], workspaces: [], bind: [] };
}

function failed(file: string, message: string, hint: string): Diagnostic {
  return { code: "FILE_FAILED", severity: "error", message, file, hint };
}
