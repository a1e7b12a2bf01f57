// Paths of grants: as the user types them, as the machine knows them, and as the config file writes them.

import { join, normalize, relative, resolve, sep } from "node:path";

/** Absolute, without a trailing slash or `/**`. */
export function absolutePath(written: string, folder: string, home: string): string {
  const path = written.replace(/(?:\/\*\*)?\/*$/, "") || sep;
  return path === "~" || path.startsWith("~/") ? normalize(join(home, path.slice(1))) : resolve(folder, path);
}

/** Relative to the file's folder if the path is in it, else to the home, else absolute. */
export function writtenPath(path: string, folder: string, home: string): string {
  const inFolder = relative(folder, path);
  if (inFolder === "") return ".";
  if (!inFolder.startsWith("..")) return `./${inFolder}`;
  const inHome = relative(home, path);
  if (inHome === "") return "~/";
  return inHome.startsWith("..") ? path : `~/${inHome}`;
}
