// Hides Unix sockets in granted folders. A program that can open a socket can talk to the process behind it, even
// through a read-only mount. Sockets are found in the kernel's list and by a search.

import { readdir, realpath, stat, readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep, basename, dirname, resolve } from "node:path";
import { isInside } from "../paths/paths.ts";
import type { RuleProblem, Mount } from "../types.ts";

const MAX_DEPTH = 8;
const MAX_ENTRIES = 20_000;
const MAX_FOLDERS = 1_000;
/** Time limit of the search for sockets whose path is unknown. */
const MAX_FURTHER_MS = 250;
const AT_ONCE = 64;
/** Each hidden socket is one mount. */
const MAX_COVERED = 1_000;

/** System folders, which contain no sockets or which the sandbox has of its own. */
const NOT_SEARCHED = ["/proc", "/sys", "/dev", "/usr", "/nix", "/gnu"];

export interface Covers {
  readonly mounts: readonly Mount[];
  readonly problems: readonly RuleProblem[];
}

/** A socket that the config grants by its own path stays visible. */
export async function socketCovers(
  grants: readonly Mount[],
  declared: readonly Mount[],
  homedir: string,
): Promise<Covers> {
  const looked = grants.filter(({ reason }) => reason !== "system" && reason !== "kept home");
  if (process.platform !== "linux" || looked.length === 0) return { mounts: [], problems: [] };
  const isAsked = looked.some(({ reason }) => reason !== "own");
  const named = new Set(declared.map(({ path }) => path));
  const shown = (path: string): boolean => looked.some((mount) => isInside(path, mount.path));
  const folders = isAsked
    ? (await wellKnownFolders(shown)).filter(
        (path) => shown(path) && ![...looked, ...declared].some((mount) => isInside(mount.path, path)),
      )
    : [];
  const [live, known, scanned] = await Promise.all([
    liveSockets(),
    isAsked ? wellKnown(homedir) : [],
    // In a program's own folder, the open sockets are enough if their paths are known.
    Promise.all(looked.filter(({ reason }) => reason !== "own").map(({ path }) => scan(path, isSearched))),
  ]);
  const further = live.unplaced ? await scanFurther(looked.map(({ path }) => path)) : [];
  const all = [...live.paths, ...known, ...further].map((path) => path.replace(/^\/var\/run\//, "/run/"));
  const candidates = new Set([...all, ...scanned.flat()].filter((path) => shown(path)));
  const sockets = await Promise.all([...candidates].map((path) => realSocket(path)));
  const covered = [...new Set(sockets)].filter(
    (path) =>
      path !== undefined &&
      shown(path) &&
      !named.has(path) &&
      !folders.some((folder) => isInside(path, folder)),
  ) as string[];
  const problems = covered.length > MAX_COVERED ? [tooMany(looked, covered)] : [];
  const mounts = [...folders, ...covered.slice(0, MAX_COVERED)].map((path) => ({
    ...{ path, access: "hidden" as const, reason: "socket" as const },
  }));
  return { mounts, problems };
}

function tooMany(grants: readonly Mount[], sockets: readonly string[]): RuleProblem {
  const most = grants.find(({ path }) => isInside(sockets[0] ?? "", path))?.path ?? sep;
  return {
    rule: `fs: ${most}`,
    problem: `it contains ${sockets.length} sockets of other programs, too many to hide`,
    remedy: "Grant a folder below it.",
  };
}

/** Also searches a program's own folder and node_modules. */
async function scanFurther(roots: readonly string[]): Promise<string[]> {
  const until = performance.now() + MAX_FURTHER_MS;
  const isGoingOn = (folder: string, path: string): boolean =>
    performance.now() < until && !folder.endsWith(`${sep}.git`) && !NOT_SEARCHED.includes(path);
  return (await Promise.all(roots.map((root) => scan(root, isGoingOn)))).flat();
}

/** Searches level by level, so that nearby sockets are found even in a large folder. */
async function scan(
  root: string,
  enters: (folder: string, path: string, name: string) => boolean,
): Promise<string[]> {
  const found: string[] = [];
  let [entries, folders] = [0, 0];
  let level = [root];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (let at = 0; at < level.length; at += AT_ONCE) {
      const some = level.slice(at, at + AT_ONCE);
      folders += some.length;
      const read = some.map((folder) => readdir(folder, { withFileTypes: true }).catch(() => []));
      for (const [index, list] of (await Promise.all(read)).entries()) {
        const folder = some[index] ?? root;
        entries += list.length;
        for (const entry of list) {
          const path = join(folder, entry.name);
          if (entry.isSocket()) found.push(path);
          else if (entry.isDirectory() && enters(folder, path, entry.name)) next.push(path);
        }
      }
      if (entries > MAX_ENTRIES || folders > MAX_FOLDERS) return found;
    }
    level = next;
  }
  return found;
}

/** Skips the contents of node_modules and .git; the socket of git is on its first level. */
function isSearched(folder: string, path: string, name: string): boolean {
  return name !== "node_modules" && !folder.endsWith(`${sep}.git`) && !NOT_SEARCHED.includes(path);
}

/**
 * Folders that contain only sockets, of the desktop and of Portolan: hidden as a whole, so that later sockets are
 * hidden too.
 */
async function wellKnownFolders(isShown: (path: string) => boolean): Promise<string[]> {
  const { XDG_RUNTIME_DIR } = process.env;
  const temporary = [...new Set(["/tmp", await realpath(tmpdir()).catch(() => "/tmp")])].filter(isShown);
  const proxyFolders = temporary.map(async (folder) =>
    (await readdir(folder).catch(() => []))
      .filter((name) => name.startsWith("portolan-egress-"))
      .map((name) => join(folder, name)),
  );
  const folders = [
    ...["/run/user", XDG_RUNTIME_DIR ?? "/run/user", "/tmp/.X11-unix", "/tmp/.ICE-unix"],
    ...(await Promise.all(proxyFolders)).flat(),
  ];
  const real = await Promise.all(folders.map((path) => realpath(path).catch(() => undefined)));
  const all = [...new Set(real)].filter((path) => path !== undefined);
  return all.filter((path) => !all.some((other) => other !== path && isInside(path, other)));
}

/** Sockets with wide access, which the search must not miss. */
async function wellKnown(homedir: string): Promise<string[]> {
  const {
    SSH_AUTH_SOCK = "",
    DOCKER_HOST = "",
    DBUS_SESSION_BUS_ADDRESS = "",
    GPG_AGENT_INFO = "",
  } = process.env;
  const { XDG_RUNTIME_DIR = `/run/user/${process.getuid?.() ?? 0}` } = process.env;
  const engines = ["docker.sock", "podman/podman.sock", "containerd/containerd.sock", "crio/crio.sock"];
  const desktop = [
    "bus",
    "wayland-0",
    "wayland-1",
    "pulse/native",
    "pipewire-0",
    "keyring/ssh",
    "keyring/control",
  ];
  const gpg = ["S.gpg-agent", "S.gpg-agent.ssh", "S.gpg-agent.extra", "S.gpg-agent.browser", "S.keyboxd"];
  const inFolder = (folder: string, names: readonly string[]): string[] =>
    names.map((name) => join(folder, name));
  return [
    ...inFolder("/run", [...engines, "dbus/system_bus_socket", "systemd/private", "systemd/notify"]),
    ...inFolder(XDG_RUNTIME_DIR, [...engines, ...desktop, ...gpg.map((name) => `gnupg/${name}`)]),
    ...inFolder(join(homedir, ".gnupg"), gpg),
    ...inFolder(join(homedir, ".docker"), ["run/docker.sock", "desktop/docker.sock"]),
    ...[SSH_AUTH_SOCK, DOCKER_HOST.replace(/^unix:\/\//, ""), GPG_AGENT_INFO.replace(/:.*$/, "")],
    ...[...DBUS_SESSION_BUS_ADDRESS.matchAll(/unix:path=([^,;]+)/g)].map(([, path = ""]) => path),
  ].filter((path) => path.startsWith(sep));
}

async function realSocket(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  const there = real === undefined ? undefined : await stat(real).catch(() => undefined);
  return there?.isSocket() === true ? real : undefined;
}

/** Above this number of combinations of name and folder, a file search is cheaper. */
const MAX_COMBINED = 500;
const ACCEPTS = 0x1_00_00;
const DATAGRAM = 2;

interface LiveSockets {
  /** The paths where sockets are, or may be. */
  readonly paths: readonly string[];
  /** Whether the path of some socket is unknown. */
  readonly unplaced: boolean;
}

/**
 * The Unix sockets that are open on this machine. The kernel names each as it was bound, which may be a relative
 * path. Sockets of containers are not included.
 */
async function liveSockets(): Promise<LiveSockets> {
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
