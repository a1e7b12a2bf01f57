// Paths of a sandbox config: `~/`, `/folder/**`, and patterns that are expanded once, when the server starts. Only programs can
// pass patterns; config files refuse them.

import { readdir } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { expandHome } from "./paths.ts";

const MAX_VISITED = 20_000;
const MAX_MATCHES = 256;

export interface DeclaredPath {
  /** Absolute. For a pattern: the folder above its first wildcard. */
  readonly path: string;
  /** The names with wildcards below it. */
  readonly pattern: readonly string[] | undefined;
}

/** `/folder/`, `/folder/**` and `/folder` are the same folder. */
export function parseConfigured(written: string, homedir: string): DeclaredPath {
  const path = normalize(expandHome(written, homedir).replace(/(?:\/\*\*)?\/*$/, "") || sep);
  const names = path.split(sep).filter((name) => name !== "");
  const first = names.findIndex((name) => /[*?]/.test(name));
  if (first === -1) return { path, pattern: undefined };
  return { path: sep + names.slice(0, first).join(sep), pattern: names.slice(first) };
}

/** Undefined if there are too many files to search or to mount one by one. */
export async function expandPattern({ path, pattern }: DeclaredPath): Promise<string[] | undefined> {
  const found = new Set<string>();
  let visited = 0;
  let open: { folder: string; rest: readonly string[] }[] = [{ folder: path, rest: pattern ?? [] }];
  while (open.length > 0) {
    const next: typeof open = [];
    for (const { folder, rest } of open) {
      const [name = "", ...further] = rest;
      const deep = name === "**";
      const wanted = deep ? (further[0] ?? "*") : name;
      const after = deep ? further.slice(1) : further;
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
        visited += 1;
        if (visited > MAX_VISITED) return undefined;
        const whole = join(folder, entry.name);
        if (matches(entry.name, wanted)) {
          if (after.length === 0) found.add(whole);
          else next.push({ folder: whole, rest: after });
        }
        // Links are not followed, because they may form a cycle.
        if (deep && entry.isDirectory()) next.push({ folder: whole, rest });
      }
      if (found.size > MAX_MATCHES) return undefined;
    }
    open = next;
  }
  return [...found].sort();
}

/** The folder to grant instead of a pattern. */
export function folderOf(declared: DeclaredPath): string {
  return declared.pattern === undefined ? dirname(declared.path) : declared.path;
}

/** Matches `*` and `?` in bounded time: only the last `*` is tried again. */
function matches(name: string, pattern: string): boolean {
  let [at, within, star, mark] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[within] === "*") {
      star = within;
      mark = at;
      within += 1;
    } else if (within < pattern.length && (pattern[within] === "?" || pattern[within] === name[at])) {
      at += 1;
      within += 1;
    } else if (star !== -1) {
      within = star + 1;
      mark += 1;
      at = mark;
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(within));
}
