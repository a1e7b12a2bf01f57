// Translates a sandbox policy into arguments of bubblewrap. Every path is mounted at its real location, and the
// symbolic links that lead there are created again inside.

import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { depth, isInside, resolveLinks, pinnedFolders, type Resolved } from "../paths/paths.ts";
import type { SandboxPolicy, Mount } from "../types.ts";

export const SANDBOX_HOSTNAME = "portolan";

const TMPFS_BYTES = 1024 ** 3;
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

export interface Extra {
  /** Paths to mount read-only, in addition to the policy. */
  readonly mounts: readonly string[];
  readonly files: readonly { readonly path: string; readonly content: string | Uint8Array }[];
  readonly caps: readonly string[];
  /** A socket to mount at the path where glibc looks for its name service cache. */
  readonly names?: string;
}

export interface ArgumentsRequest {
  readonly policy: SandboxPolicy;
  readonly extra: Extra;
  readonly namespaces: readonly string[];
  /** User and group id inside of the sandbox. Outside of it they do not change. */
  readonly uid?: number;
  /** Whether a second sandbox is created inside: a partly covered /proc could not be mounted there. */
  readonly nests: boolean;
  /** Whether this bubblewrap supports `--size`. */
  readonly canSize: boolean;
  /** Makes content available to the child as a descriptor, and returns its number. */
  readonly data: (content: string | Uint8Array) => number;
}

export async function bubblewrapArguments({
  policy,
  extra,
  namespaces,
  uid,
  nests,
  canSize,
  data,
}: ArgumentsRequest): Promise<string[]> {
  const granted = policy.mounts.filter(({ access }) => access !== "hidden");
  const everything = granted.find(({ path }) => path === "/");
  const rest = granted.filter((mount) => mount !== everything);
  const isCovered = (path: string): boolean => rest.some((mount) => isInside(path, mount.path));
  const words = [...namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
  if (uid !== undefined) words.push("--unshare-user", "--uid", String(uid), "--gid", String(uid));
  for (const cap of extra.caps) words.push("--cap-add", cap);
  words.push("--hostname", SANDBOX_HOSTNAME);
  words.push(...(everything === undefined ? ["--dir", "/etc"] : bind(everything)));
  // Kernel settings check the user id, not capabilities: root inside of a sandbox could change them.
  const settings = nests ? [] : ["--ro-bind", "/proc/sys", "/proc/sys"];
  words.push("--proc", "/proc", ...settings, ...devices(extra.caps.length > 0));
  // These folders use the machine's memory, of which one server must not take all.
  const sized = (bytes: number): string[] => (canSize ? ["--size", String(bytes), "--tmpfs"] : ["--tmpfs"]);
  const tmpfs = sized(TMPFS_BYTES);
  words.push(...sized(Math.min(TMPFS_BYTES, policy.limits.memoryBytes ?? TMPFS_BYTES)), "/dev/shm");
  words.push(...tmpfs, "/tmp");
  if (!isCovered(policy.home) && policy.home !== "/tmp") words.push(...tmpfs, policy.home);
  if (everything === undefined && !isCovered("/var/tmp")) words.push("--symlink", "/tmp", "/var/tmp");
  // If the policy grants the machine's own /etc, only the files that must differ are mounted over it.
  const isOver = everything !== undefined || isCovered("/etc/hosts");
  if (!isOver) words.push(...fileWords([...stubs(policy.home, uid), ...extra.files], data));
  // Over a granted `/` the sandbox mounts its own HOME and /tmp, which hide those of the machine.
  const isOfAll = (path: string): boolean =>
    everything !== undefined && !["/tmp", policy.home].some((own) => isInside(path, own));
  const isShown = (path: string): boolean => isCovered(path) || isOfAll(path);
  // Hidden folders that contain a path which the policy grants.
  const opened = policy.mounts.filter(
    ({ path, access }) =>
      access === "hidden" && isShown(path) && rest.some((inner) => isInside(inner.path, path)),
  );
  const closed = await closedPlaces(policy, isShown, canSize);
  const layers: (Mount | ClosedPlace)[] = [...pinnedFolders(rest, policy.mounts), ...opened, ...closed];
  if (opened.length + closed.length > 0) layers.sort((a, b) => depth(a.path) - depth(b.path));
  words.push(...(await mountWords(layers, isOfAll)));
  const reading = (path: string): Mount => ({ path, access: "read", reason: "system" });
  const covering = (path: string): Mount => ({ path, access: "hidden", reason: "socket" });
  const further = extra.mounts.filter((path) => !isCovered(path)).map(reading);
  words.push(...(await mountWords(further, () => false)));
  if (isOver) words.push(...fileWords(extra.files, data));
  // Other servers create their sockets in the same folder.
  const others = extra.names === undefined ? [] : [covering(dirname(extra.names))];
  const covered = policy.mounts.filter((mount) => !opened.includes(mount));
  words.push(...(await hiddenWords([...covered, ...others], isShown)));
  for (const { path } of opened) words.push("--remount-ro", path);
  for (const { path, words: made } of closed) if (made.includes("--tmpfs")) words.push("--remount-ro", path);
  // If the policy grants the machine's own name service, the sandbox uses it.
  if (extra.names !== undefined && !isOver) words.push(...nameWords(extra.names, words, isCovered));
  const cwd = policy.cwd ?? policy.home;
  if (!isShown(cwd) && !closed.some(({ path }) => path === cwd)) words.push("--dir", cwd);
  words.push("--chdir", cwd, "--remount-ro", "/");
  return words;
}

/** The later of two files with the same path wins, because bubblewrap cannot mount one over the other. */
function fileWords(files: Extra["files"], data: ArgumentsRequest["data"]): string[] {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  return [...contents].flatMap(([path, content]) => ["--ro-bind-data", String(data(content)), path]);
}

function bind({ path, access }: Mount): string[] {
  return [access === "write" ? "--bind" : "--ro-bind", path, path];
}

/** The system's folders do not move while Portolan runs, and every start resolves them. */
const ofTheSystem = new Map<string, Promise<Resolved | undefined>>();

function resolveMount({ path, reason }: Pick<Mount, "path" | "reason">): Promise<Resolved | undefined> {
  if (reason !== "system") return resolveLinks(path);
  let found = ofTheSystem.get(path);
  if (found === undefined) ofTheSystem.set(path, (found = resolveLinks(path)));
  return found;
}

/** A path that stands for a file of the user; see `SandboxPolicy.closed`. */
interface ClosedPlace {
  readonly path: string;
  readonly access: "closed";
  readonly reason: "declared";
  readonly words: readonly string[];
}

/**
 * Closed folders can be entered but not listed, closed files cannot be opened. Granted paths are mounted over a
 * closed folder, so that it becomes read-only only at the end.
 */
async function closedPlaces(
  { closed = [], cwd }: Pick<SandboxPolicy, "closed" | "cwd">,
  isShown: (path: string) => boolean,
  hasPerms: boolean,
): Promise<ClosedPlace[]> {
  const places: ClosedPlace[] = [];
  const folders: string[] = [];
  const realCwd = await realpath(cwd ?? "/").catch(() => cwd);
  for (const written of closed.toSorted((a, b) => depth(a) - depth(b))) {
    // In the sandbox, /var/tmp is a link to /tmp.
    const path = written.replace(/^\/var\/tmp\//, "/tmp/");
    if (isShown(path) || folders.some((folder) => isInside(path, folder))) continue;
    const there = await stat(written).catch(() => undefined);
    const isFolder = there?.isDirectory() === true;
    const isLinked = (await realpath(written).catch(() => written)) !== written;
    // Many programs list their working folder.
    const perms = hasPerms ? ["--perms", written === realCwd ? "0555" : "0111"] : [];
    const cover = isFolder ? [...perms, "--tmpfs", path] : ["--ro-bind", "/dev/null", path];
    // The target of a link is closed by itself, or granted.
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
  const resolved = await Promise.all(mounts.map((mount) => resolveMount(mount)));
  const words: string[] = [];
  const linked = new Set<string>();
  const there: string[] = [];
  for (const [index, mount] of mounts.entries()) {
    const found = resolved[index];
    if (mount.access === "closed" && (found === undefined || found.real === mount.path)) {
      words.push(...mount.words);
      continue;
    }
    // The path has disappeared since the policy was created. A program that needs it reports that better.
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

/** Covers a folder with an empty one, and a file with one that cannot be opened. */
async function hiddenWords(mounts: readonly Mount[], isShown: (path: string) => boolean): Promise<string[]> {
  const words: string[] = [];
  const hidden = mounts.flatMap(({ path, access }) => (access === "hidden" && isShown(path) ? [path] : []));
  for (const path of new Set(hidden)) {
    // The folder above is already covered.
    if (hidden.some((other) => other !== path && isInside(path, other))) continue;
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory() === true) words.push("--tmpfs", path, "--remount-ro", path);
    else if (there !== undefined) words.push("--ro-bind", "/dev/null", path);
  }
  return words;
}

/**
 * glibc looks in /var/run, which is a link to /run if something in it is granted. A granted path stays as it is,
 * and then Portolan cannot see look-ups.
 */
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

/**
 * With capabilities, the device nodes are mounted one by one: for a whole /dev an unprivileged user needs a second
 * user namespace, which drops them.
 */
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

/** Accounts and host names that reveal nothing about the machine. */
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
    { path: "/etc/hosts", content: `127.0.0.1 localhost ${SANDBOX_HOSTNAME}\n::1 localhost\n` },
    { path: "/etc/resolv.conf", content: "" },
    { path: "/etc/nsswitch.conf", content: "passwd: files\ngroup: files\nhosts: files\n" },
  ];
}
