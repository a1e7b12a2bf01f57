// Unix sockets that programs of this machine have open. The kernel lists each by the name that it was bound with, and that may be a relative one.

import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Beyond this many combinations of a name and a folder a search costs less. */
const MAX_COMBINED = 500;
const ACCEPTS = 0x1_00_00;
const DATAGRAM = 2;

export interface LiveSockets {
  /** Where they lie, or may lie. */
  readonly paths: readonly string[];
  /** Whether there are some of which nobody could tell where. */
  readonly unplaced: boolean;
}

/** Those of containers are not among them. */
export async function liveSockets(): Promise<LiveSockets> {
  const { absolute, relative, isOdd } = parseList(await readFile("/proc/net/unix", "utf8").catch(() => ""));
  const placed = await realPlaces(absolute);
  // Most machines have none, and then this costs nothing.
  if (relative.size === 0) return { paths: placed, unplaced: isOdd };
  const found = await byWorkingFolder(relative);
  return { paths: [...placed, ...found.paths], unplaced: isOdd || found.unplaced };
}

interface Listed {
  readonly absolute: ReadonlySet<string>;
  /** How many sockets can be reached by each name. */
  readonly relative: ReadonlyMap<string, number>;
  /** Something in it leads nowhere from here. */
  readonly isOdd: boolean;
}

/** `Num RefCount Protocol Flags Type St Inode Path`; names that begin with `@` are not in any folder. */
export function parseList(text: string): Listed {
  const absolute = new Set<string>();
  const relative = new Map<string, number>();
  let isOdd = false;
  for (const line of text.split("\n").slice(1)) {
    if (line === "") continue;
    const [, flags = "", type = "", name = ""] =
      /^[\da-f]+: [\da-f]+ [\da-f]+ ([\da-f]+) ([\da-f]+) [\da-f]+ +\d+(?: (.*))?$/i.exec(line) ?? [];
    // The rest of a name with a line break in it, or a descriptor of another program on the way.
    if (flags === "" || name.startsWith("/proc/")) isOdd = true;
    else if (name.startsWith(sep)) absolute.add(name);
    else if (name !== "" && !name.startsWith("@")) {
      // A connection bears the name of the socket that it was made to.
      const isReachable = (parseInt(flags, 16) & ACCEPTS) !== 0 || parseInt(type, 16) === DATAGRAM;
      if (isReachable) relative.set(name, (relative.get(name) ?? 0) + 1);
    }
  }
  return { absolute, relative, isOdd };
}

/** With links on the way followed: what is granted is compared by where it really lies. */
async function realPlaces(paths: ReadonlySet<string>): Promise<string[]> {
  const folders = new Map<string, Promise<string>>();
  const real = (folder: string): Promise<string> => {
    let found = folders.get(folder);
    if (found === undefined) folders.set(folder, (found = realpath(folder).catch(() => folder)));
    return found;
  };
  return Promise.all([...paths].map(async (path) => join(await real(dirname(path)), basename(path))));
}

/** A name begins at the folder that its program was in. Of other users' programs that is not told, and a program may have gone elsewhere since. */
async function byWorkingFolder(names: ReadonlyMap<string, number>): Promise<LiveSockets> {
  const processes = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const links = processes.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => undefined));
  const folders = [...new Set(await Promise.all(links))].filter((folder) => folder !== undefined);
  if (names.size * folders.length > MAX_COMBINED) {
    const paths = [...names.keys()].flatMap((name) => folders.map((folder) => resolve(folder, name)));
    return { paths, unplaced: true };
  }
  const found = await Promise.all(
    [...names].map(async ([name, count]) => {
      const paths = folders.map((folder) => resolve(folder, name));
      const places = new Set(await Promise.all(paths.map((path) => placeOf(path))));
      places.delete(undefined);
      return { paths: [...places] as string[], unplaced: places.size < count };
    }),
  );
  return {
    paths: found.flatMap(({ paths }) => paths),
    unplaced: found.some(({ unplaced }) => unplaced),
  };
}

async function placeOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isSocket() === true ? realpath(path).catch(() => undefined) : undefined;
}
