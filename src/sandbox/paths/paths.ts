// Paths as a box compares them: whole names, links followed one by one.

import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/** The folder itself, or something in it; `/workspace-evil` is not in `/workspace`. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export function depth(path: string): number {
  return path.split(sep).filter((name) => name !== "").length;
}

/** `~` and `~/…`; a tilde elsewhere is a name like any other. */
export function expandHome(path: string, homedir: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir, path.slice(1)) : path;
}

export interface Link {
  readonly path: string;
  /** As it is written in the link. */
  readonly target: string;
}

export interface Resolved {
  readonly real: string;
  /** The links on the way, in the order in which they are met. */
  readonly links: readonly Link[];
}

/** Undefined when there is nothing at that path. */
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

/** The first of the links that a server could have laid itself, since it may write where the link lies. A grant that is a link is not: its folder is not granted. */
export function laidLink(links: readonly Link[], writable: readonly string[]): Link | undefined {
  return links.find(({ path }) => writable.some((folder) => folder !== path && isInside(path, folder)));
}

/** Whether the server may change what is found at this path, or where it leads. */
export function isSteered({ real, links }: Resolved, writable: readonly string[]): boolean {
  return laidLink(links, writable) !== undefined || writable.some((folder) => isInside(real, folder));
}

/** Folders as they are written, and where they really lie. */
export async function bothWays(folders: readonly string[]): Promise<string[]> {
  const real = await Promise.all(folders.map((path) => realpath(path).catch(() => path)));
  return [...new Set([...folders, ...real])];
}

/** The links on the way to a file, and where it lies, or would. */
export async function wayTo(
  path: string,
): Promise<{ readonly links: readonly string[]; readonly end: string }> {
  const resolved = await resolveLinks(path);
  if (resolved !== undefined) return { links: resolved.links.map((link) => link.path), end: resolved.real };
  const folder = dirname(path);
  if (folder === path) return { links: [], end: path };
  const way = await wayTo(folder);
  return { links: way.links, end: join(way.end, basename(path)) };
}
