// System paths of a sandbox with `exec.allow`: all libraries, and only the programs that it names.

import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { interpretersOf } from "./program-folders.ts";
import { isInside, isSteered, resolveLinks, withRealPaths } from "../paths/paths.ts";
import { findProgram, systemPaths } from "./system-paths.ts";

/** Folders of programs, from which single files are mounted. */
const PROGRAM_FOLDERS = [
  ...["/usr/bin", "/usr/sbin", "/usr/games", "/usr/libexec", "/bin", "/sbin"],
  ...["/usr/local/bin", "/usr/local/sbin", "/usr/local/games", "/usr/local/libexec"],
];

/**
 * Folders of helper programs among libraries, with the programs that use them; hidden unless one of those is
 * allowed.
 */
const HELPERS: Readonly<Record<string, RegExp>> = {
  "git-core": /^git/,
  gcc: /(?:gcc|g\+\+|cc|c\+\+|cpp|clang|rustc|gfortran|ld)(?:-\d+)?$/,
  gnupg: /^gpg/,
  gnupg2: /^gpg/,
  openssh: /^(?:ssh|scp|sftp)/,
  apt: /^apt/,
  dpkg: /^dpkg/,
  systemd: /^systemd|^systemctl$/,
  "perf-core": /^perf/,
  sudo: /^sudo/,
  cargo: /^cargo/,
  rustlib: /^rustc|^cargo/,
  R: /^R(?:script)?$/,
  chromium: /^chrom/,
  firefox: /^firefox/,
  "firefox-esr": /^firefox/,
  libreoffice: /office/,
  "dbus-1.0": /^dbus/,
  "policykit-1": /^pk/,
  "google-cloud-sdk": /^(?:gcloud|gsutil|bq)$/,
};

/** Library folders to search, with the depth: `/usr/lib/jvm/java-17/bin`, `/usr/share/maven/bin`. */
const LIBRARIES = [["/usr/lib", 3] as const, ["/usr/local/lib", 3] as const, ["/usr/share", 2] as const];

export interface Allowed {
  readonly paths: readonly string[];
  /** Folders inside of `paths` that must be hidden. */
  readonly hidden: readonly string[];
  /** Names of programs that do not exist. */
  readonly unknown: readonly string[];
}

/**
 * Includes the interpreters in the first lines of the programs, except for programs that the server can write
 * itself.
 */
export async function systemWithOnly(
  programs: readonly string[],
  searchPath: string | undefined,
  writable: readonly string[] = [],
): Promise<Allowed> {
  const bare = await Promise.all((await systemPaths()).map((path) => withoutPrograms(path)));
  const found = new Set<string>();
  const unknown: string[] = [];
  for (const name of programs) {
    const path = await findProgram(name, searchPath);
    if (path === undefined) unknown.push(name);
    else for (const one of await withInterpreters(path, searchPath, writable)) found.add(one);
  }
  const allowed = await withRealPaths([...found]);
  const isNeeded = (folder: string): boolean =>
    allowed.some(
      (path) => isInside(path, folder) || HELPERS[basename(folder)]?.test(basename(path)) === true,
    );
  const helpers = (await helperFolders()).filter((folder) => isNeeded(folder));
  const hidden = (await hideable()).filter((folder) => !isNeeded(folder));
  return { paths: await withRealPaths([...bare.flat(), ...helpers, ...allowed]), hidden, unknown };
}

async function withInterpreters(
  path: string,
  searchPath: string | undefined,
  writable: readonly string[],
): Promise<string[]> {
  const all: string[] = [];
  let open = [path];
  // An interpreter may itself be a script, up to a bounded depth.
  for (let round = 0; round < 3; round += 1) {
    const next: string[] = [];
    for (const one of open) {
      const resolved = await resolveLinks(one);
      if (resolved === undefined || isSteered(resolved, writable)) continue;
      all.push(one);
      if (round < 2) next.push(...(await interpretersOf(one, searchPath)));
    }
    open = next;
  }
  return all;
}

/** A system path, or its parts without the folders of programs. */
async function withoutPrograms(path: string): Promise<string[]> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || PROGRAM_FOLDERS.includes(real)) return [];
  if (!PROGRAM_FOLDERS.some((folder) => dirname(folder) === path || dirname(dirname(folder)) === path)) {
    return [path];
  }
  const parts = await readdir(path);
  return (await Promise.all(parts.map((name) => withoutPrograms(join(path, name)).catch(() => [])))).flat();
}

/** The layout of this machine. */
let known: Promise<readonly string[]> | undefined;

/** Searched once per process, because the layout of the machine does not change. */
function hideable(): Promise<readonly string[]> {
  known ??= Promise.all(LIBRARIES.map(([folder, deep]) => programsIn(folder, deep))).then((found) =>
    found.flat(),
  );
  return known;
}

async function programsIn(folder: string, deep: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      // Modules of interpreters and plain libraries contain no programs.
      if (!entry.isDirectory() || /^(?:python|perl|node_modules|doc$)|-linux-/.test(entry.name)) return [];
      const path = join(folder, entry.name);
      if (/^(?:s?bin|libexec)$/.test(entry.name)) return [path];
      if (basename(folder) === "lib" && HELPERS[entry.name] !== undefined) return [path];
      return deep > 1 ? programsIn(path, deep - 1) : [];
    }),
  );
  return found.flat();
}

/** On some systems, the helpers of git are in a folder that is not mounted. */
async function helperFolders(): Promise<string[]> {
  const folders = Object.keys(HELPERS).map((name) => join("/usr/libexec", name));
  const real = await Promise.all(folders.map((path) => realpath(path).catch(() => undefined)));
  return real.filter((path) => path !== undefined);
}
