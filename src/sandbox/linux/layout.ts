// File system of a sandbox on Linux: the steps that create it, from a policy. Every path is mounted at its real
// location, and the symbolic links that lead there are created again inside. A backend translates the steps.

import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { depth, isInside, resolveLinks, pinnedFolders, type Resolved } from "../paths/paths.ts";
import type { SandboxPolicy, Mount } from "../types.ts";
import { stubFiles } from "./stub-files.ts";

const TMPFS_BYTES = 1024 ** 3;

export interface SandboxFile {
  readonly path: string;
  readonly content: string | Uint8Array;
}

export interface Extra {
  /** Paths to mount read-only, in addition to the policy. */
  readonly mounts: readonly string[];
  readonly files: readonly SandboxFile[];
  /** A socket to mount at the path where glibc looks for its name service cache. */
  readonly names?: string;
  /** A socket to mount in /dev. */
  readonly socket?: { readonly outside: string; readonly inside: string };
}

/** One step of creating the file system, in order; a later step covers an earlier one. Parent folders are implied. */
export type Step =
  | {
      readonly kind: "bind";
      readonly source: string;
      readonly path: string;
      readonly access: "read" | "write";
      /** The source may be gone by then. */
      readonly optional?: true;
      /** A file of the system, on the root of the sandbox: a copy serves as well, and takes less time than a mount. */
      readonly mayBeCopied?: true;
    }
  | { readonly kind: "tmpfs"; readonly path: string; readonly bytes?: number; readonly mode?: string }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly content: string | Uint8Array;
      /** In a folder of the machine, where it must not be created, but mounted over the file that is there. */
      readonly isCover?: true;
    }
  /** Makes an earlier tmpfs read-only. */
  | { readonly kind: "read-only"; readonly path: string }
  | { readonly kind: "proc"; readonly path: string }
  /** Kernel settings check the user id, not capabilities: root inside of a sandbox could change them. */
  | { readonly kind: "kernel settings"; readonly path: string }
  | { readonly kind: "devices"; readonly path: string };

export interface LayoutRequest {
  readonly policy: SandboxPolicy;
  readonly extra: Extra;
  /** User and group id inside of the sandbox. Absent: those of Portolan. */
  readonly uid?: number;
  /** Whether a second sandbox is created inside: a partly covered /proc could not be mounted there. */
  readonly nests?: boolean;
}

export async function sandboxLayout({ policy, extra, uid, nests = false }: LayoutRequest): Promise<Step[]> {
  const granted = policy.mounts.filter(({ access }) => access !== "hidden");
  const everything = granted.find(({ path }) => path === "/");
  const rest = granted.filter((mount) => mount !== everything);
  const isCovered = (path: string): boolean => rest.some((mount) => isInside(path, mount.path));
  const steps: Step[] = [everything === undefined ? { kind: "folder", path: "/etc" } : bind(everything)];
  steps.push({ kind: "proc", path: "/proc" });
  if (!nests) steps.push({ kind: "kernel settings", path: "/proc/sys" });
  steps.push({ kind: "devices", path: "/dev" });
  // These folders use the machine's memory, of which one server must not take all.
  const tmpfs = (path: string, bytes = TMPFS_BYTES): Step => ({ kind: "tmpfs", path, bytes });
  steps.push(tmpfs("/dev/shm", Math.min(TMPFS_BYTES, policy.limits.memoryBytes ?? TMPFS_BYTES)));
  steps.push(tmpfs("/tmp"));
  if (!isCovered(policy.home) && policy.home !== "/tmp")
    steps.push(tmpfs(policy.home), ...homeLinks(policy, rest));
  if (everything === undefined && !isCovered("/var/tmp"))
    steps.push({ kind: "link", path: "/var/tmp", target: "/tmp" });
  // If the policy grants the machine's own /etc, only the files that must differ are mounted over it.
  const isOver = everything !== undefined || isCovered("/etc/hosts");
  if (!isOver) steps.push(...fileSteps([...stubFiles(policy.home, uid), ...extra.files]));
  // Over a granted `/` the sandbox mounts its own HOME and /tmp, which hide those of the machine.
  const isOfAll = (path: string): boolean =>
    everything !== undefined &&
    !["/tmp", policy.home, ...(policy.closed ?? [])].some((own) => isInside(path, own));
  const isShown = (path: string): boolean => isCovered(path) || isOfAll(path);
  // Hidden folders that contain a path which the policy grants.
  const opened = policy.mounts.filter(
    ({ path, access }) =>
      access === "hidden" && isShown(path) && rest.some((inner) => isInside(inner.path, path)),
  );
  const closed = await closedPlaces(policy, isShown);
  const layers: (Mount | ClosedPlace)[] = [...pinnedFolders(rest, policy.mounts), ...opened, ...closed];
  if (opened.length + closed.length > 0) layers.sort((a, b) => depth(a.path) - depth(b.path));
  const isOnRoot = ({ path, reason }: Mount): boolean =>
    everything === undefined &&
    reason === "system" &&
    isInside(path, "/etc") &&
    !rest.some((mount) => mount.path !== path && isInside(path, mount.path));
  steps.push(...(await mountSteps(layers, isOfAll, isOnRoot)));
  const reading = (path: string): Mount => ({ path, access: "read", reason: "system" });
  const covering = (path: string): Mount => ({ path, access: "hidden", reason: "socket" });
  const further = extra.mounts.filter((path) => !isCovered(path)).map(reading);
  steps.push(...(await mountSteps(further, () => false)));
  if (isOver) steps.push(...fileSteps(extra.files, { isCover: true }));
  // Other servers create their sockets in the same folder.
  const others = extra.names === undefined ? [] : [covering(dirname(extra.names))];
  const covered = policy.mounts.filter((mount) => !opened.includes(mount));
  steps.push(...(await hiddenSteps([...covered, ...others], isShown)));
  for (const { path } of opened) steps.push({ kind: "read-only", path });
  for (const { path, step } of closed) if (step?.kind === "tmpfs") steps.push({ kind: "read-only", path });
  // If the policy grants the machine's own name service, the sandbox uses it.
  if (extra.names !== undefined && !isOver) steps.push(...nameSteps(extra.names, steps, isCovered));
  const cwd = workingFolder(policy);
  if (!isShown(cwd) && !closed.some(({ path }) => path === cwd)) steps.push({ kind: "folder", path: cwd });
  const { socket } = extra;
  if (socket !== undefined)
    steps.push({ kind: "bind", source: socket.outside, path: socket.inside, access: "read" });
  // Both are in memory, and have no size limit.
  steps.push({ kind: "read-only", path: "/dev" }, { kind: "read-only", path: "/" });
  return steps;
}

export function workingFolder({ cwd, home }: Pick<SandboxPolicy, "cwd" | "home">): string {
  return cwd ?? home;
}

/** Links in the private HOME to the granted paths of the user's home, so that `~/notes` is the same for both. */
function homeLinks({ home, userHome }: SandboxPolicy, granted: readonly Mount[]): Step[] {
  if (userHome === undefined) return [];
  const paths = granted.map(({ path }) => path).filter((path) => isInside(path, userHome));
  const outermost = paths.filter((path) => !paths.some((other) => other !== path && isInside(path, other)));
  return [...new Set(outermost)].map((path) => ({
    ...{ kind: "link", path: home + path.slice(userHome.length), target: path },
  }));
}

/** The later of two files with the same path wins, because bubblewrap cannot mount one over the other. */
function fileSteps(files: readonly SandboxFile[], where: { readonly isCover?: true } = {}): Step[] {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  return [...contents].map(([path, content]) => ({ kind: "file", path, content, ...where }));
}

function bind({ path, access }: Mount): Step & { kind: "bind" } {
  return { kind: "bind", source: path, path, access: access === "write" ? "write" : "read" };
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
  readonly step: Step | undefined;
}

/**
 * Closed folders can be entered, most of them not listed; closed files cannot be opened. Granted paths are mounted
 * over a closed folder, so that it becomes read-only only at the end.
 */
async function closedPlaces(
  { closed = [], cwd, userHome }: Pick<SandboxPolicy, "closed" | "cwd" | "userHome">,
  isShown: (path: string) => boolean,
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
    // Many programs list their working folder, and the home shows only what is granted in it.
    const mode = written === realCwd || written === userHome ? "0555" : "0111";
    const cover: Step = isFolder ? { kind: "tmpfs", path, mode } : nothingAt(path);
    // A path that the config names in the home is refused, which says more than that it does not exist.
    if (isFolder && !isLinked && path !== userHome) folders.push(path);
    // The target of a link is closed by itself, or granted.
    places.push({ path, access: "closed", reason: "declared", step: isLinked ? undefined : cover });
  }
  return places;
}

async function mountSteps(
  mounts: readonly (Mount | ClosedPlace)[],
  isThere: (path: string) => boolean,
  isOnRoot: (mount: Mount) => boolean = () => false,
): Promise<Step[]> {
  const resolved = await Promise.all(mounts.map((mount) => resolveMount(mount)));
  const steps: Step[] = [];
  const linked = new Set<string>();
  const there: string[] = [];
  for (const [index, mount] of mounts.entries()) {
    const found = resolved[index];
    if (mount.access === "closed" && (found === undefined || found.real === mount.path)) {
      if (mount.step !== undefined) steps.push(mount.step);
      continue;
    }
    // The path has disappeared since the policy was created. A program that needs it reports that better.
    if (found === undefined) continue;
    if (found.real === mount.path) {
      if (mount.access === "hidden" || mount.access === "closed")
        steps.push({ kind: "tmpfs", path: mount.path });
      else steps.push(isOnRoot(mount) ? { ...bind(mount), mayBeCopied: true } : bind(mount));
      there.push(mount.path);
      continue;
    }
    for (const { path, target } of found.links) {
      if (linked.has(path) || isThere(path) || there.some((folder) => isInside(path, folder))) continue;
      linked.add(path);
      steps.push({ kind: "link", path, target });
    }
  }
  return steps;
}

/** Covers a folder with an empty one, and a file with one that cannot be opened. */
async function hiddenSteps(mounts: readonly Mount[], isShown: (path: string) => boolean): Promise<Step[]> {
  const steps: Step[] = [];
  const hidden = mounts.flatMap(({ path, access }) => (access === "hidden" && isShown(path) ? [path] : []));
  for (const path of new Set(hidden)) {
    // The folder above is already covered.
    if (hidden.some((other) => other !== path && isInside(path, other))) continue;
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory() === true) steps.push({ kind: "tmpfs", path }, { kind: "read-only", path });
    else if (there !== undefined) steps.push(nothingAt(path));
  }
  return steps;
}

/** Device files cannot be opened below a mount that forbids devices. */
function nothingAt(path: string): Step {
  return { kind: "bind", source: "/dev/null", path, access: "read" };
}

/**
 * glibc looks in /var/run, which is a link to /run if something in it is granted. A granted path stays as it is,
 * and then Portolan cannot see lookups.
 */
function nameSteps(socket: string, steps: readonly Step[], isCovered: (path: string) => boolean): Step[] {
  const links = steps.filter((step) => step.kind === "link");
  const link = links.find(({ path }) => path === "/var/run");
  const inside = resolve("/var", link?.target ?? "run", "nscd/socket");
  const isLed = links.some((other) => other !== link && isInside(inside, other.path));
  const isUsual = /^(?:\/var)?\/run\//.test(inside);
  if (!isUsual || isLed || isCovered(inside)) return [];
  return [{ kind: "bind", source: socket, path: inside, access: "read", optional: true }];
}
