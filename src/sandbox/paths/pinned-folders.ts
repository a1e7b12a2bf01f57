// The way from a folder that may be written to something inside that may not: it must still lead there at the next start.

import { dirname } from "node:path";
import type { Mount } from "../types.ts";
import { depth } from "./paths.ts";

/** Each folder on that way is mounted onto itself. Otherwise a server could rename one of them, and what was hidden or only to be read would lie, at the next start, where nobody looks for it. */
export function heldFolders(granted: readonly Mount[], all: readonly Mount[]): Mount[] {
  const held = new Map<string, Mount>();
  const byPath = new Map(all.toReversed().map((mount) => [mount.path, mount]));
  for (const { path, access, reason } of all) {
    // A socket is searched for anew each time.
    if (access === "write" || reason === "socket") continue;
    const outer = around(path, byPath);
    if (outer?.access !== "write") continue;
    for (let folder = dirname(path); folder !== outer.path; folder = dirname(folder)) {
      held.set(folder, { ...outer, path: folder });
    }
  }
  if (held.size === 0) return [...granted];
  return [...granted, ...held.values()].toSorted((a, b) => depth(a.path) - depth(b.path));
}

/** The innermost mount that the path lies in. Upwards, since there may be as many mounts as somebody cares to declare. */
function around(path: string, byPath: ReadonlyMap<string, Mount>): Mount | undefined {
  let folder = path;
  while (dirname(folder) !== folder) {
    folder = dirname(folder);
    const found = byPath.get(folder);
    if (found !== undefined) return found;
  }
  return undefined;
}
