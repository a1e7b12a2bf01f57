// Lists the Unix sockets that are open on this machine. The kernel names each as it was bound, which may be a
// relative path.

import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Above this number of combinations of name and folder, a file search is cheaper. */
const MAX_COMBINED = 500;
const ACCEPTS = 0x1_00_00;
const DATAGRAM = 2;

export interface LiveSockets {
  /** The paths where sockets are, or may be. */
  readonly paths: readonly string[];
  /** Whether the path of some socket is unknown. */
  readonly unplaced: boolean;
}

/** Sockets of containers are not included. */
export async function liveSockets(): Promise<LiveSockets> {
  const { absolute, relative, isOdd } = parseList(await readFile("/proc/net/unix", "utf8").catch(() => ""));
  const placed = await realPlaces(absolute);
  // Most machines have none.
  if (relative.size === 0) return { paths: placed, unplaced: isOdd };
  const found = await byWorkingFolder(relative);
  return { paths: [...placed, ...found.paths], unplaced: isOdd || found.unplaced };
}

interface Listed {
  readonly absolute: ReadonlySet<string>;
  /** The number of reachable sockets with each relative name. */
  readonly relative: ReadonlyMap<string, number>;
  /** Whether a line could not be interpreted. */
  readonly isOdd: boolean;
}

/** Parses `Num RefCount Protocol Flags Type St Inode Path`. Names that begin with `@` are not in the file system. */
export function parseList(text: string): Listed {
  const absolute = new Set<string>();
  const relative = new Map<string, number>();
  let isOdd = false;
  for (const line of text.split("\n").slice(1)) {
    if (line === "") continue;
    const [, flags = "", type = "", name = ""] =
      /^[\da-f]+: [\da-f]+ [\da-f]+ ([\da-f]+) ([\da-f]+) [\da-f]+ +\d+(?: (.*))?$/i.exec(line) ?? [];
    // The rest of a name with a line break, or a path through a descriptor of another process.
    if (flags === "" || name.startsWith("/proc/")) isOdd = true;
    else if (name.startsWith(sep)) absolute.add(name);
    else if (name !== "" && !name.startsWith("@")) {
      // A connection carries the name of the socket that it connects to.
      const isReachable = (parseInt(flags, 16) & ACCEPTS) !== 0 || parseInt(type, 16) === DATAGRAM;
      if (isReachable) relative.set(name, (relative.get(name) ?? 0) + 1);
    }
  }
  return { absolute, relative, isOdd };
}

/** Resolves links, because the policy contains real paths. */
async function realPlaces(paths: ReadonlySet<string>): Promise<string[]> {
  const folders = new Map<string, Promise<string>>();
  const real = (folder: string): Promise<string> => {
    let found = folders.get(folder);
    if (found === undefined) folders.set(folder, (found = realpath(folder).catch(() => folder)));
    return found;
  };
  return Promise.all([...paths].map(async (path) => join(await real(dirname(path)), basename(path))));
}

/**
 * A relative name starts at the working folder of its process. That of other users' processes is unknown, and a
 * process may have changed it.
 */
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
