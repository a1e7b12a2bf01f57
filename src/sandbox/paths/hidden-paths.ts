// Finds paths that a server config names and its sandbox hides: the most likely reason why the server fails or
// loses data.

import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import envPaths from "env-paths";
import type { Program } from "../../process/index.ts";
import type { Mount, SandboxPolicy } from "../types.ts";
import { isInside } from "./paths.ts";

/** A path of this machine that an argument or a variable names. */
export interface NamedPath {
  readonly path: string;
  /** `args[1]`, `env.DATABASE`. */
  readonly where: string;
  /** The path does not exist yet. */
  readonly isNew?: true;
  /** The script that an interpreter should run. If it does not exist, its path is a mistake, and no grant helps. */
  readonly isScript?: true;
  /** The path to grant in its place: the existing folder of a new path, or the granted folder around it. */
  readonly grant?: string;
  /** The path to configure in its place, because the folder that the server needs is too wide to grant. */
  readonly ownFile?: string;
  /** The folder to grant does not exist yet either. */
  readonly isNewFolder?: true;
  /** The folder to grant contains other files, so that a grant is only the explicit choice of a person. */
  readonly isShared?: true;
  /** The variable of the server that names the path, and the data file that the server can use without this variable. */
  readonly ownData?: { readonly variable: string; readonly file: string };
  /** Whether the server only reads it; absent if that is not known. */
  readonly isForReading?: boolean;
  /** The path may be read, and not written. */
  readonly isReadOnly?: true;
  /** The reason why it is always read-only. */
  readonly protectedAs?: string;
  /** The path is in /tmp, or relative to HOME (`~/`), of which the sandbox has its own: a success proves nothing. */
  readonly isPrivate?: true;
  /** `fs.deny` of the config hides it. */
  readonly isDenied?: true;
  /** It is Portolan's own data. */
  readonly isOwnData?: true;
}

export interface HiddenPaths {
  /** Existing paths of this machine that the sandbox hides, each once. */
  readonly named: readonly NamedPath[];
  /**
   * Paths that the private HOME or /tmp would make writable: the sandbox must close them, so that no data is lost
   * there.
   */
  readonly closed: readonly string[];
}

type Named = Pick<Program, "args" | "cwd" | "env"> & {
  /** The argument that names the script of an interpreter. */
  readonly script?: string | undefined;
};
type Place = Pick<SandboxPolicy, "mounts" | "home" | "userHome" | "cwd">;

/** Variables that every server has, which may name hidden folders. */
const USUAL = /^(?:PATH|HOME|TMPDIR|PWD|SHELL|LANG|LC_ALL|TZ)$/;
/** Folders for temporary files. */
const SHARED = ["/tmp", "/var/tmp"];
/** Tells a script from the name of a command or a class. */
const SCRIPT_FILE = /\/|\.(?:[cm]?[jt]sx?|py|rb|sh|php|pl|lua|jar)$/;
const MAX_WORDS = 1_000;

/** `homedir` belongs to the user; `home` of the sandbox may differ. `cwd` is absent if the config names none. */
export function hiddenPaths(program: Named, place: Place, homedir: string): HiddenPaths {
  const homes = [homedir, place.home].filter((home) => home !== sep);
  const isPrivate = (path: string): boolean => [...homes, ...SHARED].some((own) => isInside(path, own));
  // Over a granted `/` the sandbox mounts its private HOME and /tmp.
  const mountOf = (path: string): Mount | undefined =>
    place.mounts.findLast((mount) => isInside(path, mount.path) && (mount.path !== sep || !isPrivate(path)));
  const isShown = (path: string): boolean => (mountOf(path)?.access ?? "hidden") !== "hidden";
  const isDenied = (path: string): boolean => {
    const around = mountOf(realOf(path));
    return around?.access === "hidden" && around.reason === "declared";
  };
  const isOfUser = (path: string): boolean => homes.every((home) => !isDotted(path, home));
  const named = new Map<string, NamedPath>();
  const closed = new Set<string>();
  const close = (path: string): void => {
    for (const one of new Set([path, realOf(path)]))
      if (isPrivate(one) && !SHARED.includes(one) && !isShown(one)) closed.add(one);
  };
  const tilde = place.userHome ?? place.home;
  for (const { path, where, isPlain, isTilde, isScript } of pathsIn(program, tilde)) {
    if (path === sep || isShown(path) || named.has(path)) continue;
    const isLost = isTilde || [place.home, ...SHARED].some((own) => own !== sep && isInside(path, own));
    const flag = {
      ...(isLost && ({ isPrivate: true } as const)),
      ...(isScript && ({ isScript: true } as const)),
      ...(isDenied(path) && ({ isDenied: true } as const)),
      ...(isOwnData(path) && ({ isOwnData: true } as const)),
    };
    if (isShown(realOf(path))) {
      // The path is granted under another name: the link that leads there must not become a private folder.
      close(path);
    } else if (existsSync(path)) {
      named.set(path, { path, where, ...flag });
      close(path);
      // A server writes other files beside its own: a journal, a backup, a copy that it renames.
      const folder = dirname(path);
      if (isFile(path) && !homes.includes(folder) && isOfUser(folder)) close(folder);
    } else if (isPlain) {
      const folder = existingAbove(path);
      // Outside of HOME and /tmp, only a new file in an existing folder is certain enough.
      if (folder === sep || (!isPrivate(path) && folder !== dirname(path))) continue;
      // A new file among the user's files is meant to stay. A file in /tmp or in a folder such as ~/.cache is not.
      const isOfHome = homes.includes(folder);
      const parent = dirname(path);
      const grant = isScript || parent === sep || homes.includes(parent) ? undefined : parent;
      if (!isOfUser(path) || SHARED.includes(folder) || isShown(folder)) continue;
      named.set(path, {
        path,
        where,
        isNew: true,
        ...(grant === undefined ? {} : { grant }),
        ...(grant !== undefined && grant !== folder && ({ isNewFolder: true } as const)),
        ...flag,
      });
      close(isOfHome ? path : folder);
    }
  }
  // The working folder shows only what is granted in it.
  const { cwd } = place;
  if (cwd !== undefined && !isShown(cwd)) close(cwd);
  return { named: [...named.values()], closed: [...closed] };
}

/** Portolan's store, tokens, keys, logins and kept HOMEs, as written and as real paths. No grant shows them to a server. */
export function ownFolders(): string[] {
  const { data, cache, log } = envPaths("portolan", { suffix: "" });
  return [...new Set([data, cache, log].flatMap((folder) => [folder, realOf(folder)]))];
}

/** Whether the path is one of Portolan's own folders, or in one. */
export function isOwnData(path: string): boolean {
  return ownFolders().some((folder) => isInside(path, folder) || isInside(realOf(path), folder));
}

/** Whether the path is a hidden folder of the home, such as `~/.cache`, or below one. A file such as `~/.memory.json` is not. */
function isDotted(path: string, home: string): boolean {
  if (path === home || !isInside(path, home)) return false;
  const inHome = path.slice(home.length).replace(/^\/+/, "");
  return inHome.startsWith(".") && !/^\.[^/]+\.[^/.]+$/.test(inHome);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The path without links; as written if it does not exist. */
export function realOf(path: string): string {
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
  /** Written as a path, not as a word that happens to be a file name. */
  readonly isPlain: boolean;
  /** Written with `~/`. */
  readonly isTilde: boolean;
  readonly isScript: boolean;
}

function pathsIn({ args, cwd, env, script }: Named, home: string): Word[] {
  const found: Word[] = [];
  const add = (text: string, where: string, isScript = false): void => {
    const path = pathIn(text, cwd, home);
    if (path === undefined) return;
    const isTilde = /^(?:[^=/~]*=)?~\//.test(text);
    const isPlain = /^(?:[^=/~]*=)?(?:~?\/|\w+:\/)/.test(text) || (isScript && SCRIPT_FILE.test(text));
    found.push({ path, where, isPlain, isTilde, isScript });
  };
  const scriptIndex = script === undefined ? -1 : args.indexOf(script);
  for (const [index, word] of args.slice(0, MAX_WORDS).entries())
    add(word, `args[${index}]`, index === scriptIndex);
  for (const [name, value] of Object.entries(env)) {
    if (USUAL.test(name) || value.length > 65_536) continue;
    for (const part of /^\/[^:]*(?::\/[^:]*)+$/.test(value) ? value.split(":") : [value])
      // A relative value may be any word.
      if (/^(?:~?\/|\w+:\/)/.test(part)) add(part, `env.${name}`);
  }
  return found;
}

/**
 * Paths also appear in options such as `--data=./notes` and in file: and sqlite: URLs. Relative ones start at the
 * working folder.
 */
function pathIn(word: string, cwd: string | undefined, home: string): string | undefined {
  const value = /^(?:-[^=]*|[A-Za-z_][\w.-]*)=(.+)$/s.exec(word)?.[1] ?? (word.startsWith("-") ? "" : word);
  if (value === "" || value.includes("\0") || value.includes("${")) return undefined;
  if (/^file:/i.test(value)) return fromUrl(value);
  const database = /^sqlite[\w+]*:(?:\/\/\/?)?(.+?)(?:\?.*)?$/is.exec(value)?.[1];
  // Other URLs lead elsewhere, and may contain a password, which no warning may show.
  if (database === undefined && /^[a-z][\w+.-]+:\/\//i.test(value)) return undefined;
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
