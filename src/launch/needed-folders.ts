// Folders that a known server needs in place of single files, because it writes other files beside its own.

import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { knownServer, type LocalProgram, programWords } from "../model/index.ts";
import type { NamedPath } from "../sandbox/index.ts";

/** The paths with the folders to grant. A file in a folder that is too wide to grant gets another place. */
export function withNeededFolders(
  paths: readonly NamedPath[],
  endpoint: LocalProgram,
  home: string = homedir(),
): readonly NamedPath[] {
  const known = knownServer(programWords({ endpoint: { transport: "stdio", ...endpoint } }));
  if (known?.writesBeside !== true) return paths;
  const wide = new Set([home, realOf(home), "/tmp", "/"]);
  return paths.map((named) => {
    const { path, isScript } = named;
    if (isScript === true || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return named;
    const folder = dirname(path);
    if (!wide.has(folder)) return existsSync(folder) ? { ...named, grant: folder } : named;
    return { ...named, ownFile: join(folder, basename(known.package), basename(path)) };
  });
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
