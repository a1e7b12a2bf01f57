// Files of a workspace: its source files, and the config paths, which decide about sandboxes, so that no server may write them.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { PlacedWord } from "../formats.ts";
import { referencedFiles } from "../../model/index.ts";
import {
  type Catalog,
  type CatalogSettings,
  CURSOR_NAME,
  LOCK_NAME,
  OWN_NAMES,
  USUAL_NAMES,
} from "../types.ts";
import { findFiles, isPattern, splitPattern } from "./glob.ts";

/** A file to read. A listed file must exist and be a config file; a file with a usual name need not. */
export interface SourceFile {
  readonly file: string;
  readonly named?: PlacedWord;
  /** True if a pattern matched the file. */
  readonly matched?: boolean;
  /** True for the file that declares the workspace: its last content stays in use if it is deleted or emptied. */
  readonly isOwn?: true;
}

export interface Sources {
  readonly files: readonly SourceFile[];
  /** Folders that patterns search. */
  readonly folders: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Returns true if a workspace has no servers and no portolan.yaml, so that the config files of other MCP clients are used. */
export function isUndeclared({ servers, files }: Pick<Catalog, "servers" | "files">): boolean {
  return servers.length === 0 && !files.some(({ format }) => format === "workspace");
}

/** In the home folder, the file of a project and the file of the user have one path: it belongs to the user, not to a workspace. */
export function usualSources(folder: string, home: string = homedir()): Sources {
  const names =
    resolve(folder) === resolve(home) ? USUAL_NAMES.filter((name) => name !== CURSOR_NAME) : USUAL_NAMES;
  return { files: names.map((name) => ({ file: join(folder, name) })), folders: [], diagnostics: [] };
}

export async function listedSources(
  folder: string,
  own: string,
  listed: readonly PlacedWord[],
  home: string | undefined,
): Promise<Sources> {
  const files = new Map<string, SourceFile>();
  const folders: string[] = [];
  const diagnostics: Diagnostic[] = [];
  const warn = ({ line, column }: PlacedWord, message: string, hint: string): void => {
    diagnostics.push({ code: "FILE_FAILED", severity: "warning", message, file: own, line, column, hint });
  };
  for (const source of listed) {
    const path = source.text.replace(/^~(?=[\\/])/, () => home ?? homedir());
    if (!isPattern(path)) {
      const file = resolve(folder, path);
      if (file !== own && !files.has(file)) files.set(file, { file, named: source });
      continue;
    }
    const { base, steps } = splitPattern(path);
    const top = resolve(folder, base);
    folders.push(top);
    const found = await findFiles(top, steps);
    for (const file of found.files)
      if (file !== own && !files.has(file)) files.set(file, { file, matched: true });
    if (found.files.length === 0)
      warn(
        source,
        `no file matches ${source.text}`,
        "Correct the pattern. A relative pattern starts at the folder of this file.",
      );
    if (!found.complete)
      warn(
        source,
        `Portolan did not search all files for ${source.text}, because there are too many`,
        "Name a more specific folder in the pattern.",
      );
  }
  return { files: [...files.values()], folders, diagnostics };
}

/** Folders of a workspace that contain config files and nothing else. */
const OWN_FOLDERS = [".drivers", ".secrets"];

/** The paths that one workspace was read from. */
export interface UsedPaths {
  readonly folder: string;
  /** Whether the whole folder was read, not only one file of it. */
  readonly isWhole: boolean;
  /** Absolute, as written; also paths that were looked for and do not exist. */
  readonly paths: readonly string[];
  /** Of the files that the settings name, those with secrets of the gateway. Absolute. Default: none. */
  readonly secrets?: readonly string[];
}

export function usedPaths(
  folder: string,
  isWhole: boolean,
  files: readonly (string | undefined)[],
  secrets: readonly string[] = [],
): UsedPaths {
  const own = [...OWN_NAMES, LOCK_NAME, ...OWN_FOLDERS].map((name) => join(folder, name));
  return { folder, isWhole, paths: [...own, ...files].filter((path) => path !== undefined), secrets };
}

/** The files with secrets that the settings name: the .env file, the key of the gateway, `${file:…}` in tokens and in headers of telemetry. */
export function secretFiles(
  { envFile, gateway = {}, registries = [] }: CatalogSettings,
  folder: string,
): string[] {
  const { tls, oauth, callers = [], telemetry } = gateway;
  const headers = Object.values(telemetry?.headers ?? {});
  const texts = [...callers.flatMap(({ token = [] }) => token), oauth?.clientSecret, ...headers];
  const tokens = [...texts, ...registries.map(({ token }) => token)].filter((text) => text !== undefined);
  return [envFile, tls?.key, ...tokens.flatMap(referencedFiles)]
    .filter((path) => path !== undefined)
    .map((path) => resolve(folder, path));
}

/** The paths that would be read if this folder were a workspace, except for names that other programs use as well. */
export function usualConfigPaths(folder: string): readonly string[] {
  const names = USUAL_NAMES.filter((name) => !name.startsWith("manifest."));
  return [...OWN_NAMES, LOCK_NAME, ...names, ...OWN_FOLDERS].map((name) => join(folder, name));
}
