// Path functions of the sandbox: they compare whole names and resolve symbolic links one by one.

import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { Mount } from "../types.ts";

/** The limit of the kernel. */
const MAX_LINKS = 40;

/** Whether the path is the folder itself or inside of it; `/workspace-evil` is not inside of `/workspace`. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export function depth(path: string): number {
  return path.split(sep).filter((name) => name !== "").length;
}

/** Expands `~` and `~/…`. */
export function expandHome(path: string, homedir: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir, path.slice(1)) : path;
}

export interface Link {
  readonly path: string;
  /** The target as the link contains it. */
  readonly target: string;
}

export interface Resolved {
  readonly real: string;
  /** The links of the path, in the order of resolution. */
  readonly links: readonly Link[];
}

/** Undefined if the path does not exist. */
export async function resolveLinks(path: string): Promise<Resolved | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return undefined;
  if (real === path) return { real, links: [] };
  const links: Link[] = [];
  let rest = path.split(sep).filter((name) => name !== "");
  let at: string = sep;
  while (rest.length > 0 && links.length < MAX_LINKS) {
    const next = join(at, rest[0] ?? "");
    rest = rest.slice(1);
    const target = await readlink(next).catch(() => undefined);
    if (target === undefined) {
      at = next;
    } else {
      links.push({ path: next, target });
      rest = resolve(dirname(next), target)
        .split(sep)
        .concat(rest)
        .filter((name) => name !== "");
      at = sep;
    }
  }
  return { real, links };
}

/**
 * The first link that the server could have created, because it may write the link's folder. A granted path that
 * is itself a link does not count.
 */
export function writableLink(links: readonly Link[], writable: readonly string[]): Link | undefined {
  return links.find(({ path }) => writable.some((folder) => folder !== path && isInside(path, folder)));
}

/** Whether the server can change the file at this path, or where the path leads. */
export function isSteered({ real, links }: Resolved, writable: readonly string[]): boolean {
  return writableLink(links, writable) !== undefined || writable.some((folder) => isInside(real, folder));
}

/** The folders as written, and their real paths. */
export async function withRealPaths(folders: readonly string[]): Promise<string[]> {
  const real = await Promise.all(folders.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...folders, ...real])];
}

/** The links of a path and its real location, which need not exist. */
export async function resolvePath(
  path: string,
): Promise<{ readonly links: readonly string[]; readonly end: string }> {
  const resolved = await resolveLinks(path);
  if (resolved !== undefined) return { links: resolved.links.map((link) => link.path), end: resolved.real };
  const folder = dirname(path);
  if (folder === path) return { links: [], end: path };
  const way = await resolvePath(folder);
  return { links: way.links, end: join(way.end, basename(path)) };
}

/**
 * Pins the folders between a writable folder and a protected path inside of it. Mounts each folder on the way onto
 * itself. If the server renamed one of them, the protected path would be unprotected at the next start.
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
