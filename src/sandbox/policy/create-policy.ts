// Works out one server's box: the default profile, what its declaration adds and takes away, and the caller's folders.

import { normalize, sep } from "node:path";
import type { ResourceLimits, SandboxDeclaration } from "../../model/index.ts";
import type { Program } from "../../process/index.ts";
import { hiddenPaths, type HiddenPaths, type NamedPath } from "../paths/hidden-paths.ts";
import { missingPath } from "../paths/missing-path.ts";
import { bothWays, depth, isInside, laidLink, resolveLinks } from "../paths/paths.ts";
import type { Box, Clause, Mount } from "../types.ts";
import { systemWithOnly } from "./allowed-programs.ts";
import { declaredMounts, deniedMounts, writableFolders } from "./grants.ts";
import { guardedMounts } from "./protected-paths.ts";
import { socketCovers } from "./sockets.ts";
import { systemPaths } from "./system-paths.ts";

export interface BoxRequest {
  readonly program: Program;
  readonly declaration: SandboxDeclaration | undefined;
  /** Folders that the caller works in; given for writing. */
  readonly roots: readonly string[];
  /** What the program needs of its own; see `ownFolders`. */
  readonly ownFolders: readonly string[];
  /** Files and folders of certificates that its variables name. Default: none. */
  readonly certificates?: readonly string[] | undefined;
  /** The folder that is its HOME from one start to the next. */
  readonly keptHome: string | undefined;
  /** Whether the working folder may be read; otherwise it is there, and empty unless something else grants it. Default: true. */
  readonly cwdGranted?: boolean | undefined;
  /** Of the user that this program runs as. */
  readonly homedir: string;
  /** Whether its arguments are about this machine; those of an image are not. Default: true. */
  readonly namesPaths?: boolean | undefined;
}

export interface MadeBox {
  readonly box: Box;
  /** What was asked for and cannot be had, however good the backend. */
  readonly problems: readonly Clause[];
  /** Paths that its arguments and variables name and that it does not have. */
  readonly notGranted: readonly NamedPath[];
}

export const DEFAULT_LIMITS: ResourceLimits = {
  // Newer runtimes reserve half a GiB for every thread that runs code, and the kernel counts it.
  memoryBytes: 4 * 1024 ** 3,
  processes: 256,
  openFiles: 1024,
};

export async function makeBox(request: BoxRequest): Promise<MadeBox> {
  const { program, declaration } = request;
  const writable = await writableFolders(request);
  const [system, declared, homes] = await Promise.all([
    systemMounts(request, writable),
    declaredMounts(request, writable),
    bothWays([request.homedir]),
  ]);
  const own = await ownMounts(request, writable, homes);
  const given = [...own.mounts, ...declared.mounts];
  const guarded = await guardedMounts({ grants: given, writable, homedir: request.homedir });
  const left = given.filter((mount) => !guarded.refused.includes(mount));
  const laid = layered([...system.mounts, ...left, ...guarded.mounts]);
  const grants = laid.filter(({ access }) => access !== "hidden");
  const denials = declaration?.fs?.deny ?? [];
  const [denied, sockets] = await Promise.all([
    deniedMounts(denials, request.homedir, grants, program.file, writable),
    socketCovers(grants, declared.mounts, request.homedir),
  ]);
  const asked = given.filter(({ path }) => path !== sep);
  const covers = system.hidden
    .filter(({ path }) => !asked.some((one) => isInside(one.path, path) || isInside(path, one.path)))
    .concat(sockets.mounts);
  const hidden = denied.mounts.concat(
    covers.filter(
      ({ path }) =>
        !denied.mounts.some((other) => isInside(path, other.path)) &&
        laid.findLast((other) => isInside(path, other.path))?.access !== "hidden",
    ),
  );
  const mounts = laid
    .filter(({ path }) => !hidden.some((other) => isInside(path, other.path)))
    .concat(hidden);
  // Where it really lies: a link to it may be among what is granted.
  const homedir = homes.at(-1) ?? request.homedir;
  const usual = request.keptHome ?? (homedir === sep ? "/home/user" : homedir);
  // Relative words of its command line mean the folder that it was started from, whether it may touch that or not.
  const cwd = normalize(program.cwd ?? process.cwd());
  const { named, closed } =
    request.namesPaths === false
      ? NOTHING_NAMED
      : hiddenPaths({ ...program, cwd }, { mounts, home: usual, cwd }, homedir);
  const home = closed.includes(usual) ? otherHome(usual, mounts) : usual;
  const limits = Object.entries(declaration?.limits ?? {}).filter(([, value]) => value !== undefined);
  const parts = [system, own, declared, guarded, denied, sockets];
  const steered = await steeredCwd(program.cwd, writable, grants);
  return {
    box: {
      mounts,
      home,
      cwd: cwd === sep && program.cwd === undefined ? home : cwd,
      closed: closed.filter((path) => path !== home),
      network: declaration?.network ?? [],
      exec: { allow: declaration?.exec?.allow, spawn: declaration?.exec?.spawn ?? true },
      limits: { ...DEFAULT_LIMITS, ...Object.fromEntries(limits) },
      declaredLimits: new Set(limits.map(([name]) => name as keyof ResourceLimits)),
    },
    problems: [...parts.flatMap(({ problems }) => problems), ...steered],
    notGranted: named,
  };
}

const NOTHING_NAMED: HiddenPaths = { named: [], closed: [] };

/** A private HOME beside the user's own, which is named and must not be written in vain. */
function otherHome(home: string, mounts: readonly Mount[]): string {
  const candidates = ["/tmp/home", "/home/portolan"];
  return candidates.find((path) => !mounts.some((mount) => isInside(path, mount.path))) ?? home;
}

interface Part {
  readonly mounts: readonly Mount[];
  readonly problems: readonly Clause[];
}

async function systemMounts(
  { program, declaration }: BoxRequest,
  writable: readonly string[],
): Promise<Part & { readonly hidden: readonly Mount[] }> {
  const allow = declaration?.exec?.allow;
  const mounts = (list: readonly string[], access: Mount["access"] = "read"): Mount[] =>
    list.map((path) => ({ path, access, reason: "system" }));
  if (allow === undefined) return { mounts: mounts(await systemPaths()), hidden: [], problems: [] };
  const programs = [program.file, ...allow];
  const { paths, hidden, unknown } = await systemWithOnly(programs, program.env["PATH"], writable);
  return {
    mounts: mounts(paths),
    hidden: mounts(hidden, "hidden"),
    problems: unknown.map((name) => ({
      clause: `exec.allow: ${name}`,
      problem: "there is no such program",
      remedy: "Install it, give its full path, or take it out of exec.allow.",
    })),
  };
}

/** The server's folders, its working folder and its kept HOME. */
async function ownMounts(
  { program, ownFolders, certificates = [], keptHome, cwdGranted = true }: BoxRequest,
  writable: readonly string[],
  homes: readonly string[],
): Promise<Part> {
  const mounts: Mount[] = [];
  const problems: Clause[] = [];
  const add = async (path: string, access: "read" | "write", reason: Mount["reason"]): Promise<boolean> => {
    const resolved = await resolveLinks(path);
    if (resolved === undefined) return false;
    const { real, links } = resolved;
    if (reason === "cwd" && [real, path].some((one) => isTooWide(one, homes))) return true;
    // Otherwise a server could lay a link into a folder of its own, and be given what it leads to at the next start.
    const isLaid = laidLink(links, writable) !== undefined;
    for (const one of isLaid ? [] : new Set([real, path])) mounts.push({ path: one, access, reason });
    return true;
  };
  for (const folder of ownFolders) await add(folder, "read", "own");
  await add(program.file, "read", "own");
  for (const path of certificates) await add(path, "read", "certificates");
  if (program.cwd !== undefined && cwdGranted) {
    if (!(await add(program.cwd, "read", "cwd"))) {
      problems.push({ clause: `cwd: ${program.cwd}`, ...(await missingPath(program.cwd, true)) });
    }
  }
  if (keptHome !== undefined) await add(keptHome, "write", "kept home");
  return { mounts, problems };
}

/** Working folders which are that of everybody and everything: they are there, and empty. */
function isTooWide(path: string, homes: readonly string[]): boolean {
  return [...homes, "/tmp", "/proc", "/sys", "/dev", "/run"].some((one) => isInside(one, path));
}

/** Outer folders first, so that inner ones lie over them; what would change nothing is left out. */
function layered(mounts: readonly Mount[]): Mount[] {
  const kept: Mount[] = [];
  const byDepth = mounts.toSorted((a, b) => depth(a.path) - depth(b.path) || rank(b) - rank(a));
  for (const mount of byDepth) {
    // Over a granted `/` lie the box's own HOME and /tmp, so that it does not stand for what is in those.
    const below = kept.findLast(({ path }) => path !== sep && isInside(mount.path, path));
    const isAsked = isGuard(mount) || mount.reason === "declared" || mount.reason === "root";
    // What is granted for writing is not taken back by what a server is given unasked.
    const isHeld =
      below !== undefined &&
      (below.access === mount.access || below.path === mount.path || (!isAsked && below.access === "write"));
    if (!isHeld) kept.push(mount);
  }
  return kept;
}

function isGuard({ reason }: Mount): boolean {
  return reason === "declaration" || reason === "portolan";
}

function rank(mount: Mount): number {
  const { access, reason } = mount;
  if (isGuard(mount)) return 4;
  return (access === "write" ? 2 : 0) + (reason === "declared" || reason === "root" ? 1 : 0);
}

/** Nothing when the folder is there for another reason. */
async function steeredCwd(
  cwd: string | undefined,
  writable: readonly string[],
  grants: readonly Mount[],
): Promise<Clause[]> {
  const resolved = cwd === undefined ? undefined : await resolveLinks(cwd);
  if (resolved === undefined) return [];
  const { real, links } = resolved;
  const laid = laidLink(links, writable);
  if (laid === undefined || grants.some(({ path }) => isInside(real, path))) return [];
  return [
    {
      clause: `cwd: ${cwd}`,
      problem: `${laid.path} is a link in a folder that the server may write to, so it could lead anywhere`,
      remedy: `Write cwd: ${real}.`,
    },
  ];
}
