// Paths that a server's config names and its sandbox hides: the likeliest reason why the server fails, or why its data would be lost.

import { existsSync, realpathSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Program } from "../../process/index.ts";
import type { Box } from "../types.ts";
import { isInside } from "./paths.ts";

/** A path of this machine that an argument or a variable names. */
export interface NamedPath {
  readonly path: string;
  /** `args[1]`, `env.DATABASE`. */
  readonly where: string;
  /** Not there yet, but the folder that it would be in is. */
  readonly isNew?: true;
  /** In HOME or /tmp, of which the server has its own. */
  readonly isPrivate?: true;
}

export interface HiddenPaths {
  /** All that is there on this machine and not in the sandbox, each once. */
  readonly named: readonly NamedPath[];
  /** Where a private HOME or /tmp would be writable in its place: these must be closed. */
  readonly closed: readonly string[];
}

type Named = Pick<Program, "args" | "cwd" | "env">;
type Place = Pick<Box, "mounts" | "home" | "cwd">;

/** Variables of every server: that they name hidden folders is how it should be. */
const USUAL = /^(?:PATH|HOME|TMPDIR|PWD|SHELL|LANG|LC_ALL|TZ)$/;
/** Folders for temporary files. */
const SHARED = ["/tmp", "/var/tmp"];
const PRIVATE = { isPrivate: true } as const;
const MAX_WORDS = 1_000;

/** `homedir` is the user's own; `home` of the sandbox may be another. `cwd` is absent where nobody chose it. */
export function hiddenPaths(program: Named, place: Place, homedir: string): HiddenPaths {
  const homes = [homedir, place.home].filter((home) => home !== sep);
  const isPrivate = (path: string): boolean => [...homes, ...SHARED].some((own) => isInside(path, own));
  const isShown = (path: string): boolean => {
    // Over a granted `/` lie the private HOME and /tmp.
    const around = place.mounts.findLast(
      (mount) => isInside(path, mount.path) && (mount.path !== sep || !isPrivate(path)),
    );
    return around !== undefined && around.access !== "hidden";
  };
  const named = new Map<string, NamedPath>();
  const closed = new Set<string>();
  const close = (path: string): void => {
    for (const one of new Set([path, realOf(path)]))
      if (isPrivate(one) && !SHARED.includes(one) && !isShown(one)) closed.add(one);
  };
  for (const { path, where, isPlain } of pathsIn(program, place.home)) {
    if (path === sep || isShown(path) || named.has(path)) continue;
    if (isShown(realOf(path))) {
      // Granted by another name: the link that leads there must not be a private folder.
      close(path);
    } else if (existsSync(path)) {
      named.set(path, { path, where, ...(isPrivate(path) ? PRIVATE : {}) });
      close(path);
    } else if (isPlain) {
      const folder = existingAbove(path);
      // Elsewhere, only a new file in a folder that is there tells enough.
      if (folder === sep || (!isPrivate(path) && folder !== dirname(path))) continue;
      // A new file among the user's own is meant to stay. One in /tmp or a folder such as ~/.cache is not.
      const isOfHome = homes.includes(folder);
      const isKept = homes.every((home) => !isDotted(path, home)) && !SHARED.includes(folder);
      if (!isKept || isShown(folder)) continue;
      named.set(path, { path, where, isNew: true, ...(isPrivate(path) ? PRIVATE : {}) });
      close(isOfHome ? path : folder);
    }
  }
  // The folder that a server runs in is not its own: only what is granted in it is there.
  const { cwd } = place;
  if (cwd !== undefined && !isShown(cwd)) close(cwd);
  return { named: [...named.values()], closed: [...closed] };
}

/** `~/.cache/x` and the like, seen from a home. */
function isDotted(path: string, home: string): boolean {
  return path !== home && isInside(path, home) && path.slice(home.length).replace(/^\/+/, "").startsWith(".");
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function existingAbove(path: string): string {
  const folder = dirname(path);
  return folder === path || existsSync(folder) ? folder : existingAbove(folder);
}

interface Word {
  readonly path: string;
  readonly where: string;
  /** Written as a path, not as a word that happens to be the name of a file. */
  readonly isPlain: boolean;
}

function pathsIn({ args, cwd, env }: Named, home: string): Word[] {
  const found: Word[] = [];
  const add = (text: string, where: string, base: string | undefined): void => {
    const path = pathIn(text, base, home);
    if (path !== undefined) found.push({ path, where, isPlain: /^(?:[^=/~]*=)?(?:~?\/|\w+:\/)/.test(text) });
  };
  for (const [index, word] of args.slice(0, MAX_WORDS).entries()) add(word, `args[${index}]`, cwd);
  for (const [name, value] of Object.entries(env)) {
    if (USUAL.test(name) || value.length > 65_536) continue;
    for (const part of /^\/[^:]*(?::\/[^:]*)+$/.test(value) ? value.split(":") : [value])
      // A relative value is a word like any other.
      if (/^(?:~?\/|\w+:\/)/.test(part)) add(part, `env.${name}`, cwd);
  }
  return found;
}

/** `--data=./notes` names a path as well, and so do file: and sqlite: URLs. Relative ones begin where the server runs. */
function pathIn(word: string, cwd: string | undefined, home: string): string | undefined {
  const value = /^(?:-[^=]*|[A-Za-z_][\w.-]*)=(.+)$/s.exec(word)?.[1] ?? (word.startsWith("-") ? "" : word);
  if (value === "" || value.includes("\0") || value.includes("${")) return undefined;
  if (/^file:/i.test(value)) return fromUrl(value);
  const database = /^sqlite[\w+]*:(?:\/\/\/?)?(.+?)(?:\?.*)?$/is.exec(value)?.[1];
  const text = database ?? value;
  if (text.startsWith("~/")) return resolve(home, text.slice(2));
  if (text.startsWith("/")) return resolve(text);
  return cwd === undefined ? undefined : resolve(cwd, text);
}

function fromUrl(value: string): string | undefined {
  try {
    return fileURLToPath(value);
  } catch {
    return undefined;
  }
}
