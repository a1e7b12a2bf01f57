// Source files of a workspace: the listed ones, or those with the usual names.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { PlacedWord } from "../formats.ts";
import { findFiles, isPattern, splitPattern } from "./glob.ts";
import { type Catalog, USUAL_NAMES } from "../types.ts";

/** A file to read. A listed file must exist and be a config file; a file with a usual name need not. */
export interface SourceFile {
  readonly file: string;
  readonly named?: PlacedWord;
  /** True if a pattern matched the file. */
  readonly matched?: boolean;
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

export function usualSources(folder: string): Sources {
  return { files: USUAL_NAMES.map((name) => ({ file: join(folder, name) })), folders: [], diagnostics: [] };
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
      warn(source, `no file matches ${source.text}`, "Patterns are relative to the folder of this file.");
    if (!found.complete) warn(source, `${source.text} matches too many files`, "Use a more specific folder.");
  }
  return { files: [...files.values()], folders, diagnostics };
}
