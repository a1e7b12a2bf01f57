// Checks paths and file URIs among a call's arguments against the box, before the call is forwarded: however they are read, they must stay inside.

import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { Box } from "../types.ts";
import { readings } from "./path-readings.ts";
import { depth, isInside } from "./paths.ts";

/** What is wrong with the first of the values that should not pass, or undefined. Rejects when the signal calls it off. */
export type PathCheck = (
  values: readonly string[],
  signal?: AbortSignal,
) => Promise<{ readonly index: number; readonly problem: string } | undefined>;

export function createPathCheck(box: Box): PathCheck {
  const cwd = box.cwd ?? box.home;
  let places: Promise<Places> | undefined;
  return async (values, signal) => {
    places ??= placesOf(box);
    // Each name is looked at once, however often the values lead past it.
    const walker = createWalker(signal);
    for (const [index, value] of values.entries()) {
      const problem = await problemOf(value, box.home, cwd, await places, walker);
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
    // As text, and as the system walks it: they differ where `..` follows a link.
    for (const path of [resolve(absolute), walked.path]) {
      const given = visible.filter((folder) => isInside(path, folder));
      // What is given may lie in a folder that is hidden, and the other way round: the inner one counts.
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
  /** Where the system would arrive; names that do not exist are taken as they are. */
  readonly path: string;
  /** How far of it there is something. */
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
    /** Below what exists nothing needs to be looked for. */
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

/** Of a name in a folder whose own path is the real one. */
async function realOf(path: string): Promise<string> {
  // Elsewhere one name may be written in several ways.
  const isPlain = process.platform === "linux" && !(await lstat(path)).isSymbolicLink();
  return isPlain ? path : realpath(path);
}

interface Places {
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
  /** The box's own HOME, /tmp and working folder. What this machine has in its own is not meant, and is not there. */
  readonly own: readonly string[];
}

async function placesOf({ mounts, home, cwd }: Box): Promise<Places> {
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
