// Checks the paths and file URIs in a tool call's arguments against the sandbox policy. Every way to read them
// must stay inside.

import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { SandboxPolicy } from "../types.ts";
import { readings } from "./path-readings.ts";
import { depth, isInside } from "./paths.ts";

/** Returns the first value that is refused, with the reason. Rejects if the signal is aborted. */
export type PathCheck = (
  values: readonly string[],
  signal?: AbortSignal,
) => Promise<{ readonly index: number; readonly problem: string } | undefined>;

export function createPathCheck(policy: SandboxPolicy): PathCheck {
  const cwd = policy.cwd ?? policy.home;
  let places: Promise<Places> | undefined;
  return async (values, signal) => {
    places ??= placesOf(policy);
    // Each file name is looked up once per call.
    const walker = createWalker(signal);
    for (const [index, value] of values.entries()) {
      const problem = await problemOf(value, policy.home, cwd, await places, walker);
      if (problem !== undefined) return { index, problem };
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
): Promise<string | undefined> {
  const read = readings(value, home);
  if (typeof read === "string") return read;
  for (const reading of read) {
    const absolute = reading.startsWith(sep) ? reading : `${cwd}${sep}${reading}`;
    const walked = await walk(absolute);
    // As text, and as the kernel resolves it: the two differ if `..` follows a link.
    for (const path of [resolve(absolute), walked.path]) {
      const given = visible.filter((folder) => isInside(path, folder));
      // A granted folder may contain a hidden one, and the other way round: the inner one wins.
      const inner = Math.max(0, ...given.map(depth));
      if (hidden.some((folder) => isInside(path, folder) && depth(folder) >= inner))
        return "is hidden from this server";
      const isOwn = own.some((folder) => isInside(path, folder) && isInside(folder, walked.existing));
      if (given.length === 0 && !isOwn) return "is outside of the folders that this server is given";
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
  const look = async (path: string): Promise<string | undefined> => {
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
        const real = seen.has(next) ? seen.get(next) : await look(next);
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

async function placesOf({ mounts, home, cwd }: SandboxPolicy): Promise<Places> {
  const both = async (paths: readonly string[]): Promise<string[]> => {
    const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
    return [...new Set([...paths, ...real])];
  };
  const granted = mounts.filter(({ access }) => access !== "hidden");
  const hidden = mounts.filter(({ access }) => access === "hidden");
  return {
    visible: await both(granted.map(({ path }) => path)),
    hidden: await both(hidden.map(({ path }) => path)),
    own: await both([home, "/tmp", cwd ?? home]),
  };
}
