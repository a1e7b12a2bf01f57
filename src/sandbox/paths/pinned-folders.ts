// Pins the folders between a writable folder and a protected path inside of it, so that the server cannot rename
// them.

import { dirname } from "node:path";
import type { Mount } from "../types.ts";
import { depth } from "./paths.ts";

/**
 * Mounts each folder on the way onto itself. If the server renamed one of them, the protected path would be
 * unprotected at the next start.
 */
export function pinnedFolders(granted: readonly Mount[], all: readonly Mount[]): Mount[] {
  const pinned = new Map<string, Mount>();
  const byPath = new Map(all.toReversed().map((mount) => [mount.path, mount]));
  for (const { path, access, reason } of all) {
    // Sockets are searched for at every start.
    if (access === "write" || reason === "socket") continue;
    const outer = around(path, byPath);
    if (outer?.access !== "write") continue;
    for (let folder = dirname(path); folder !== outer.path; folder = dirname(folder)) {
      pinned.set(folder, { ...outer, path: folder });
    }
  }
  if (pinned.size === 0) return [...granted];
  return [...granted, ...pinned.values()].toSorted((a, b) => depth(a.path) - depth(b.path));
}

/** The innermost mount that contains the path. Searches upwards, because a config may declare many mounts. */
function around(path: string, byPath: ReadonlyMap<string, Mount>): Mount | undefined {
  let folder = path;
  while (dirname(folder) !== folder) {
    folder = dirname(folder);
    const found = byPath.get(folder);
    if (found !== undefined) return found;
  }
  return undefined;
}
