// Checks the paths and file URIs in a tool call's arguments against the sandbox policy. Every way to read them
// must stay inside.

import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { SandboxPolicy } from "../types.ts";
import { depth, isInside, expandHome, withRealPaths } from "./paths.ts";

/** Why a path is refused. A grant helps only for a path that is `outside`. */
export interface PathProblem {
  readonly kind: "outside" | "hidden" | "unreadable";
  readonly problem: string;
}

/** Returns the first value that is refused, with the reason. Rejects if the signal is aborted. */
export type PathCheck = (
  values: readonly string[],
  signal?: AbortSignal,
) => Promise<(PathProblem & { readonly index: number }) | undefined>;

export function createPathCheck(policy: SandboxPolicy): PathCheck {
  const cwd = policy.cwd ?? policy.home;
  let places: Promise<Places> | undefined;
  return async (values, signal) => {
    places ??= placesOf(policy);
    // Each file name is looked up once per call.
    const walker = createWalker(signal);
    for (const [index, value] of values.entries()) {
      const problem = await problemOf(value, policy.userHome ?? policy.home, cwd, await places, walker);
      if (problem !== undefined) return { index, ...problem };
    }
    return undefined;
  };
}

async function problemOf(
  value: string,
  home: string,
  cwd: string,
  { visible, hidden, own }: Places,
  walk: Walker,
): Promise<PathProblem | undefined> {
  const read = readings(value, home);
  if (typeof read === "string") return { kind: "unreadable", problem: read };
  for (const reading of read) {
    const absolute = reading.startsWith(sep) ? reading : `${cwd}${sep}${reading}`;
    const walked = await walk(absolute);
    // As text, and as the kernel resolves it: the two differ if `..` follows a link.
    for (const path of [resolve(absolute), walked.path]) {
      const given = visible.filter((folder) => isInside(path, folder));
      // A granted folder may contain a hidden one, and the other way round: the inner one wins.
      const inner = Math.max(0, ...given.map(depth));
      if (hidden.some((folder) => isInside(path, folder) && depth(folder) >= inner))
        return { kind: "hidden", problem: "is hidden from this server by its sandbox" };
      const isOwn = own.some((folder) => isInside(path, folder) && isInside(folder, walked.existing));
      if (given.length === 0 && !isOwn)
        return {
          kind: "outside",
          problem: "is outside of the folders that the sandbox grants to this server",
        };
    }
  }
  return undefined;
}

interface Walked {
  /** The path that the kernel would reach; names that do not exist stay as they are. */
  readonly path: string;
  /** The part of the path that exists. */
  readonly existing: string;
}

type Walker = (path: string) => Promise<Walked>;

function createWalker(signal: AbortSignal | undefined): Walker {
  const seen = new Map<string, string | undefined>();
  const resolveOne = async (path: string): Promise<string | undefined> => {
    signal?.throwIfAborted();
    const real = await realOf(path).catch(() => undefined);
    seen.set(path, real);
    return real;
  };
  return async (path) => {
    let existing: string = sep;
    /** Names below a missing one are not looked up. */
    const missing: string[] = [];
    for (const name of path.split(sep)) {
      if (name === "" || name === ".") continue;
      if (name === "..") {
        if (missing.pop() === undefined) existing = dirname(existing);
      } else if (missing.length > 0) {
        missing.push(name);
      } else {
        const next = join(existing, name);
        const real = seen.has(next) ? seen.get(next) : await resolveOne(next);
        if (real === undefined) missing.push(name);
        else existing = real;
      }
    }
    return { path: missing.length === 0 ? existing : join(existing, ...missing), existing };
  };
}

/** Resolves one name in a folder whose path is already real. */
async function realOf(path: string): Promise<string> {
  // On other systems one file may have several spellings.
  const isPlain = process.platform === "linux" && !(await lstat(path)).isSymbolicLink();
  return isPlain ? path : realpath(path);
}

interface Places {
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
  /** The sandbox's own HOME, /tmp and working folder. The machine's files at these paths are not visible. */
  readonly own: readonly string[];
}

async function placesOf({ mounts, home, userHome = home, cwd }: SandboxPolicy): Promise<Places> {
  const granted = mounts.filter(({ access }) => access !== "hidden");
  const hidden = mounts.filter(({ access }) => access === "hidden");
  return {
    visible: await withRealPaths(granted.map(({ path }) => path)),
    hidden: await withRealPaths(hidden.map(({ path }) => path)),
    own: await withRealPaths([home, userHome, "/tmp", cwd ?? home]),
  };
}

const MAX_LENGTH = 4096;
const SCHEME = /^[a-z][\d+.a-z-]+:/i;
const FILE = /^file:/i;
/** `jar:file:/…`, `view-source:file:/…`, `git+file:/…`: some programs remove the outer scheme. */
const NESTED_FILE = /^(?:[\d.a-z-]*[:+])+(file:[/\\].*)$/is;
const ENCODED_SEPARATOR = /%(?:2f|5c|00)/i;
/** An encoded percent sign before another escape. */
const ENCODED_TWICE = /%25[\da-f]{2}/i;
/** All control characters except those that URL parsers remove. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;

/**
 * All paths that a program could read from a text: as it is, trimmed, with its escapes decoded, or as a URI.
 * Returns the possible paths; none if the text is no path; a text with the reason if it is refused.
 */
function readings(value: string, home: string): string[] | string {
  if (value.length > MAX_LENGTH) return "is too long for a path";
  if (CONTROL.test(value)) return "has a control character in it";
  const plain = asInUrls(value);
  const uri = NESTED_FILE.exec(plain)?.[1] ?? (FILE.test(plain) ? plain : undefined);
  if (uri === undefined) {
    const whole = decode(plain) ?? plain;
    if (FILE.test(whole) || NESTED_FILE.test(whole)) return "has an encoded scheme in it";
    // If a program reads this URI as a path nevertheless, it must not lead upwards.
    if (SCHEME.test(plain)) return leadsUp(whole) ? "leads out of its folder" : [];
  }
  if (ENCODED_SEPARATOR.test(plain)) return "has an encoded separator in it";
  if (ENCODED_TWICE.test(plain)) return "is encoded twice";
  if (/^~[a-z_]/i.test(plain)) return "names the home folder of a user (~name)";
  if (uri === undefined) return pathsOf([value, plain], home);
  const path = pathOfUri(uri);
  if (path === undefined) return "is not a file URI of this machine";
  return decode(path) === undefined ? "is not a well-formed URI" : pathsOf([path], home);
}

function pathsOf(written: readonly string[], home: string): string[] | string {
  const decoded = written.map((one) => decode(one) ?? one);
  if (decoded.some((one) => CONTROL.test(one))) return "has a control character in it";
  const all = [...written, ...decoded, ...decoded.map(asInUrls)];
  const slashed = [...all, ...all.map((one) => one.replaceAll("\\", "/"))];
  return [...new Set([...slashed, ...slashed.map((one) => expandHome(one, home))])];
}

/** URL parsers ignore spaces around a URL, and tabs and line ends anywhere in it. */
function asInUrls(text: string): string {
  const joined = text.replace(/[\t\n\r]+/g, "");
  let [start, end] = [0, joined.length];
  while (joined[start] === " ") start += 1;
  while (end > start && joined[end - 1] === " ") end -= 1;
  return joined.slice(start, end);
}

/**
 * `file:/path`, `file:///path`, `file://localhost/path`. A query or a fragment counts as part of the name, as
 * simple programs read it.
 */
function pathOfUri(uri: string): string | undefined {
  const rest = uri.slice("file:".length);
  const path = rest.startsWith("//") ? /^\/\/(?:localhost)?(\/.*)$/is.exec(rest)?.[1] : rest;
  // With four slashes or more, some programs read a host name.
  return path?.startsWith("/") === true && !path.startsWith("//") ? path : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether the text contains more `..` than names before them. */
function leadsUp(value: string): boolean {
  let depth = 0;
  for (const name of value.split(/[/\\]+/)) {
    depth += name === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}
