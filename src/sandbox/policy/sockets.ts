// Hides Unix sockets in granted folders. A program that can open a socket can talk to the process behind it, even
// through a read-only mount.

import { readdir, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { isInside } from "../paths/paths.ts";
import type { RuleProblem, Mount } from "../types.ts";
import { liveSockets } from "./live-sockets.ts";

const MAX_DEPTH = 8;
const MAX_ENTRIES = 20_000;
const MAX_FOLDERS = 1_000;
/** Time limit of the search for sockets whose path is unknown. */
const MAX_FURTHER_MS = 250;
const AT_ONCE = 64;
/** Each hidden socket is one mount. */
const MAX_COVERED = 1_000;

/** System folders, which contain no sockets or which the sandbox has of its own. */
const NOT_LOOKED_INTO = ["/proc", "/sys", "/dev", "/usr", "/nix", "/gnu"];

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
    Promise.all(looked.filter(({ reason }) => reason !== "own").map(({ path }) => scan(path, isLookedInto))),
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
    problem: `it has ${sockets.length} sockets of other programs in it, too many to cover`,
    remedy: "Grant something narrower.",
  };
}

/** Also searches a program's own folder and node_modules. */
async function scanFurther(roots: readonly string[]): Promise<string[]> {
  const until = performance.now() + MAX_FURTHER_MS;
  const isGoingOn = (folder: string, path: string): boolean =>
    performance.now() < until && !folder.endsWith(`${sep}.git`) && !NOT_LOOKED_INTO.includes(path);
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
function isLookedInto(folder: string, path: string, name: string): boolean {
  return name !== "node_modules" && !folder.endsWith(`${sep}.git`) && !NOT_LOOKED_INTO.includes(path);
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
