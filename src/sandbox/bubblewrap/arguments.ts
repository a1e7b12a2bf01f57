// A box in the words of bubblewrap. Everything is mounted where it really lies; links that lead there are made again inside.

import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { depth, isInside, type Resolved, resolveLinks } from "../paths/paths.ts";
import { heldFolders } from "../paths/pinned-folders.ts";
import type { Box, Mount } from "../types.ts";

export const BOX_HOSTNAME = "portolan";

const TMPFS_BYTES = 1024 ** 3;
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

export interface Extra {
  /** Read-only, beside what the box itself has. */
  readonly mounts: readonly string[];
  readonly files: readonly { readonly path: string; readonly content: string | Uint8Array }[];
  readonly caps: readonly string[];
  /** A socket, to be found where programs ask for names. */
  readonly names?: string | undefined;
}

export interface BoxArguments {
  readonly box: Box;
  readonly extra: Extra;
  readonly namespaces: readonly string[];
  /** Another number for user and group inside; outside they stay what they are. */
  readonly uid?: number | undefined;
  /** Whether another box is made inside, which holds the server: a /proc that is covered in part could not be mounted there. */
  readonly nests: boolean;
  /** Whether this bubblewrap knows `--size`. */
  readonly canSize: boolean;
  /** Makes a descriptor of the child from a content, and says its number there. */
  readonly data: (content: string | Uint8Array) => number;
}

export async function boxArguments({
  box,
  extra,
  namespaces,
  uid,
  nests,
  canSize,
  data,
}: BoxArguments): Promise<string[]> {
  const granted = box.mounts.filter(({ access }) => access !== "hidden");
  const everything = granted.find(({ path }) => path === "/");
  const rest = granted.filter((mount) => mount !== everything);
  const isCovered = (path: string): boolean => rest.some((mount) => isInside(path, mount.path));
  const words = [...namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
  if (uid !== undefined) words.push("--unshare-user", "--uid", String(uid), "--gid", String(uid));
  for (const cap of extra.caps) words.push("--cap-add", cap);
  words.push("--hostname", BOX_HOSTNAME);
  words.push(...(everything === undefined ? ["--dir", "/etc"] : bind(everything)));
  // Settings of the kernel ask for the user, not for capabilities: root in a box is root to them.
  const settings = nests ? [] : ["--ro-bind", "/proc/sys", "/proc/sys"];
  words.push("--proc", "/proc", ...settings, ...devices(extra.caps.length > 0));
  // They lie in the machine's memory, of which one server must not take all.
  const sized = (bytes: number): string[] => (canSize ? ["--size", String(bytes), "--tmpfs"] : ["--tmpfs"]);
  const tmpfs = sized(TMPFS_BYTES);
  words.push(...sized(Math.min(TMPFS_BYTES, box.limits.memoryBytes ?? TMPFS_BYTES)), "/dev/shm");
  words.push(...tmpfs, "/tmp");
  if (!isCovered(box.home) && box.home !== "/tmp") words.push(...tmpfs, box.home);
  if (everything === undefined && !isCovered("/var/tmp")) words.push("--symlink", "/tmp", "/var/tmp");
  // Where the machine's own /etc is granted, only what must be different lies over it.
  const isOver = everything !== undefined || isCovered("/etc/hosts");
  if (!isOver) words.push(...fileWords([...stubs(box.home, uid), ...extra.files], data));
  // Over a granted `/` lie the box's own folders, and nothing of the machine's is seen in those.
  const isOfAll = (path: string): boolean =>
    everything !== undefined && !["/tmp", box.home].some((own) => isInside(path, own));
  const isShown = (path: string): boolean => isCovered(path) || isOfAll(path);
  // Hidden, but for something in them that the server is given over that.
  const opened = box.mounts.filter(
    ({ path, access }) =>
      access === "hidden" && isShown(path) && rest.some((inner) => isInside(inner.path, path)),
  );
  const closed = await closedPlaces(box, isShown, canSize);
  const laid: (Mount | ClosedPlace)[] = [...heldFolders(rest, box.mounts), ...opened, ...closed];
  if (opened.length + closed.length > 0) laid.sort((a, b) => depth(a.path) - depth(b.path));
  words.push(...(await mountWords(laid, isOfAll)));
  const reading = (path: string): Mount => ({ path, access: "read", reason: "system" });
  const covering = (path: string): Mount => ({ path, access: "hidden", reason: "socket" });
  const further = extra.mounts.filter((path) => !isCovered(path)).map(reading);
  words.push(...(await mountWords(further, () => false)));
  if (isOver) words.push(...fileWords(extra.files, data));
  // Sockets of other servers come into that folder, too.
  const others = extra.names === undefined ? [] : [covering(dirname(extra.names))];
  const covered = box.mounts.filter((mount) => !opened.includes(mount));
  words.push(...(await hiddenWords([...covered, ...others], isShown)));
  for (const { path } of opened) words.push("--remount-ro", path);
  for (const { path, words: made } of closed) if (made.includes("--tmpfs")) words.push("--remount-ro", path);
  // Where the machine's own names are granted, they are the box's.
  if (extra.names !== undefined && !isOver) words.push(...nameWords(extra.names, words, isCovered));
  const cwd = box.cwd ?? box.home;
  if (!isShown(cwd) && !closed.some(({ path }) => path === cwd)) words.push("--dir", cwd);
  words.push("--chdir", cwd, "--remount-ro", "/");
  return words;
}

/** Of two for the same place the later one; bubblewrap cannot lay one over another. */
function fileWords(files: Extra["files"], data: BoxArguments["data"]): string[] {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  return [...contents].flatMap(([path, content]) => ["--ro-bind-data", String(data(content)), path]);
}

function bind({ path, access }: Mount): string[] {
  return [access === "write" ? "--bind" : "--ro-bind", path, path];
}

/** Where the system's own folders lie does not change while this program runs, and every start asks. */
const ofTheSystem = new Map<string, Promise<Resolved | undefined>>();

function whereItLies({ path, reason }: Pick<Mount, "path" | "reason">): Promise<Resolved | undefined> {
  if (reason !== "system") return resolveLinks(path);
  let found = ofTheSystem.get(path);
  if (found === undefined) ofTheSystem.set(path, (found = resolveLinks(path)));
  return found;
}

/** A place that stands for the user's own files; see `Box.closed`. */
interface ClosedPlace {
  readonly path: string;
  readonly access: "closed";
  readonly reason: "declared";
  readonly words: readonly string[];
}

/**
 * Folders that can be entered and not listed, files that cannot be opened. Granted paths in such a folder lie over it, so that it is made
 * read-only only at the end.
 */
async function closedPlaces(
  { closed = [], cwd }: Pick<Box, "closed" | "cwd">,
  isShown: (path: string) => boolean,
  hasPerms: boolean,
): Promise<ClosedPlace[]> {
  const places: ClosedPlace[] = [];
  const folders: string[] = [];
  const realCwd = await realpath(cwd ?? "/").catch(() => cwd);
  for (const written of closed.toSorted((a, b) => depth(a) - depth(b))) {
    // There, this folder leads to /tmp.
    const path = written.replace(/^\/var\/tmp\//, "/tmp/");
    if (isShown(path) || folders.some((folder) => isInside(path, folder))) continue;
    const there = await stat(written).catch(() => undefined);
    const isFolder = there?.isDirectory() === true;
    const isLinked = (await realpath(written).catch(() => written)) !== written;
    // Many programs list the folder that they run in.
    const perms = hasPerms ? ["--perms", written === realCwd ? "0555" : "0111"] : [];
    const cover = isFolder ? [...perms, "--tmpfs", path] : ["--ro-bind", "/dev/null", path];
    // Where a link leads is closed by itself, or granted.
    const words = isLinked ? [] : cover;
    if (isFolder && !isLinked) folders.push(path);
    places.push({ path, access: "closed", reason: "declared", words });
  }
  return places;
}

async function mountWords(
  mounts: readonly (Mount | ClosedPlace)[],
  isThere: (path: string) => boolean,
): Promise<string[]> {
  const resolved = await Promise.all(mounts.map((mount) => whereItLies(mount)));
  const words: string[] = [];
  const linked = new Set<string>();
  const there: string[] = [];
  for (const [index, mount] of mounts.entries()) {
    const found = resolved[index];
    if (mount.access === "closed" && (found === undefined || found.real === mount.path)) {
      words.push(...mount.words);
      continue;
    }
    // It went away since the box was worked out; a program that needs it will say so better.
    if (found === undefined) continue;
    if (found.real === mount.path) {
      words.push(
        ...(mount.access === "write" || mount.access === "read" ? bind(mount) : ["--tmpfs", mount.path]),
      );
      there.push(mount.path);
      continue;
    }
    for (const { path, target } of found.links) {
      if (linked.has(path) || isThere(path) || there.some((folder) => isInside(path, folder))) continue;
      linked.add(path);
      words.push("--symlink", target, path);
    }
  }
  return words;
}

/** A folder is covered with an empty one, a file with one that cannot be opened. */
async function hiddenWords(mounts: readonly Mount[], isShown: (path: string) => boolean): Promise<string[]> {
  const words: string[] = [];
  const hidden = mounts.flatMap(({ path, access }) => (access === "hidden" && isShown(path) ? [path] : []));
  for (const path of new Set(hidden)) {
    // In an empty folder there is nothing left to hide.
    if (hidden.some((other) => other !== path && isInside(path, other))) continue;
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory() === true) words.push("--tmpfs", path, "--remount-ro", path);
    else if (there !== undefined) words.push("--ro-bind", "/dev/null", path);
  }
  return words;
}

/** glibc asks in /var/run, which leads to /run where something of it is granted. What is granted there stays as it is: then nothing is heard. */
function nameWords(socket: string, words: readonly string[], isCovered: (path: string) => boolean): string[] {
  const links = words.flatMap((word, index) =>
    word === "--symlink" ? [{ target: words[index + 1] ?? "", path: words[index + 2] ?? "" }] : [],
  );
  const link = links.find(({ path }) => path === "/var/run");
  const inside = resolve("/var", link?.target ?? "run", "nscd/socket");
  const isLed = links.some((other) => other !== link && isInside(inside, other.path));
  const isUsual = /^(?:\/var)?\/run\//.test(inside);
  return isUsual && !isLed && !isCovered(inside) ? ["--ro-bind-try", socket, inside] : [];
}

/** With capabilities, nodes one by one: for a whole /dev an ordinary user needs a second user namespace, in which they are lost. */
function devices(keepsCapabilities: boolean): string[] {
  if (!keepsCapabilities) return ["--dev", "/dev"];
  const nodes = DEVICES.flatMap((name) => ["--dev-bind-try", `/dev/${name}`, `/dev/${name}`]);
  const links = [
    ["/proc/self/fd", "/dev/fd"],
    ["/proc/self/fd/0", "/dev/stdin"],
    ["/proc/self/fd/1", "/dev/stdout"],
    ["/proc/self/fd/2", "/dev/stderr"],
  ].flatMap((link) => ["--symlink", ...link]);
  return ["--tmpfs", "/dev", ...nodes, ...links, "--dir", "/dev/shm"];
}

/** Accounts and names that say nothing about the machine. */
function stubs(
  home: string,
  other: number | undefined,
): { readonly path: string; readonly content: string }[] {
  const [uid, gid] = [other ?? process.getuid?.() ?? 0, other ?? process.getgid?.() ?? 0];
  const root = uid === 0 ? [] : ["root:x:0:0:root:/:/usr/sbin/nologin"];
  const user = `user:x:${uid}:${gid}:user:${home.replaceAll(/[:\n]/g, "_")}:/bin/sh`;
  const nobody = uid === 65_534 ? [] : ["nobody:x:65534:65534:nobody:/:/usr/sbin/nologin"];
  const groups = [`user:x:${gid}:`, ...(gid === 65_534 ? [] : ["nogroup:x:65534:"])];
  return [
    { path: "/etc/passwd", content: `${[...root, user, ...nobody].join("\n")}\n` },
    { path: "/etc/group", content: `${groups.join("\n")}\n` },
    { path: "/etc/hosts", content: `127.0.0.1 localhost ${BOX_HOSTNAME}\n::1 localhost\n` },
    { path: "/etc/resolv.conf", content: "" },
    { path: "/etc/nsswitch.conf", content: "passwd: files\ngroup: files\nhosts: files\n" },
  ];
}
