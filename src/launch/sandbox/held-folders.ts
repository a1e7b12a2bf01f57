// The way from a folder that may be written to something inside that may not: it must still lead there at the next start.

import { dirname } from "node:path";
import type { Mount } from "../types.ts";
import { depth, isInside } from "./paths.ts";

/** Each folder on that way is mounted onto itself. Otherwise a server could rename one of them, and what was hidden or only to be read would lie, at the next start, where nobody looks for it. */
export function heldFolders(granted: readonly Mount[], all: readonly Mount[]): Mount[] {
  const held = new Map<string, Mount>();
  for (const { path, access, reason } of all) {
    // A socket is searched for anew each time.
    if (access === "write" || reason === "socket") continue;
    const around = granted.filter((mount) => mount.path !== path && isInside(path, mount.path));
    const outer = around.toSorted((a, b) => depth(b.path) - depth(a.path))[0];
    if (outer?.access !== "write") continue;
    for (let folder = dirname(path); folder !== outer.path; folder = dirname(folder)) {
      held.set(folder, { ...outer, path: folder });
    }
  }
  if (held.size === 0) return [...granted];
  return [...granted, ...held.values()].toSorted((a, b) => depth(a.path) - depth(b.path));
}
