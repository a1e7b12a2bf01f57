// Finds the access to a path that a known server needs: reading or writing, and the folder in place of a single file if the
// server writes other files beside it.

import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type KnownServer, knownServer, type LocalProgram, programWords } from "../model/index.ts";
import type { NamedPath } from "../sandbox/index.ts";

/** Folders of the home folder that usually contain files of the person. */
const PERSONAL = [
  ...["Desktop", "Documents", "Downloads", "Movies", "Music", "Pictures", "Public", "Videos"],
  ...["Dropbox", "Google Drive", "Library", "OneDrive"],
];

/**
 * The paths with the access and the folders to grant. A file in a folder that is too wide to grant, or that contains other files, gets
 * another place.
 */
export function withNeededFolders(
  named: readonly NamedPath[],
  endpoint: LocalProgram,
  home: string = homedir(),
): readonly NamedPath[] {
  const known = knownServer(programWords({ endpoint: { transport: "stdio", ...endpoint } }));
  if (known?.access === undefined) return named;
  const isForReading = known.access === "read";
  const paths = named.map((one) => (one.isScript === true ? one : { ...one, isForReading }));
  if (known.writesBeside !== true) return paths;
  const wide = new Set([home, realOf(home), "/tmp", "/"]);
  return paths.map((named) => {
    const { path, isScript } = named;
    if (isScript === true || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return named;
    const folder = dirname(path);
    const ownFile = join(folder, basename(known.package), basename(path));
    if (wide.has(folder)) return { ...named, ownFile };
    const needed = existsSync(folder) ? { ...named, grant: folder } : named;
    const { grant } = needed;
    if (grant === undefined || wide.has(grant) || !hasOtherFiles(grant, path, known, home)) return needed;
    return { ...needed, ownFile, isShared: true, ...ownDataOf(known, home) };
  });
}

/** Whether a grant of the folder would give the server more than its own data. */
function hasOtherFiles(folder: string, file: string, { package: name }: KnownServer, home: string): boolean {
  if (basename(folder) === basename(name)) return false;
  if ([home, realOf(home)].some((own) => PERSONAL.some((one) => folder === join(own, one)))) return true;
  try {
    // Copies and journals of the data file have its name at their start.
    return readdirSync(folder).some((one) => !one.startsWith(basename(file)) && one !== ".DS_Store");
  } catch {
    return false;
  }
}

/** The folder that `portolan grant --data` would create: it contains no data of another server. */
function ownDataOf(
  { package: name, dataVariable: variable, dataFile = "data" }: KnownServer,
  home: string,
): Pick<NamedPath, "ownData"> {
  if (variable === undefined) return {};
  const folders = ["", "-2", "-3"].map((end) => join(home, `${basename(name)}${end}`));
  const folder = folders.find((one) => !existsSync(join(one, dataFile)));
  return folder === undefined ? {} : { ownData: { variable, file: join(folder, dataFile) } };
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
