// Creates the sandbox policy of one server from the default profile, its sandbox config and the caller's folders.

import { normalize, sep } from "node:path";
import type { ResourceLimits, SandboxConfig } from "../../model/index.ts";
import type { Program } from "../../process/index.ts";
import { hiddenPaths, type HiddenPaths, type NamedPath } from "../paths/hidden-paths.ts";
import { missingPath } from "../paths/missing-path.ts";
import { withRealPaths, depth, isInside, writableLink, resolveLinks } from "../paths/paths.ts";
import type { SandboxPolicy, RuleProblem, Mount } from "../types.ts";
import { protectedMounts, type ConfigFiles } from "./protected-paths.ts";
import { systemWithOnly } from "./allowed-programs.ts";
import { configuredMounts, deniedMounts, writableFolders } from "./grants.ts";
import { envFileCovers, secretFileCovers } from "./env-files.ts";
import { socketCovers } from "./sockets.ts";
import { systemPaths } from "./system-paths.ts";

export interface PolicyRequest {
  readonly program: Program;
  /** The argument that names the script of an interpreter; see `scriptWord`. */
  readonly script?: string | undefined;
  readonly config: SandboxConfig | undefined;
  /** Folders of the caller, granted for writing. */
  readonly roots: readonly string[];
  /** The folders of the program itself; see `programFolders`. */
  readonly programFolders: readonly string[];
  /** The folders of the packages that the program uses; see `workspaceFolders`. Default: none. */
  readonly workspaceFolders?: readonly string[];
  /** The program folders that Portolan inferred. The sandbox hides the `.env` files in them. Default: none. */
  readonly inferredFolders?: readonly string[];
  /** Files that the config of the workspace names as secrets. The sandbox hides them unless `config` grants them. Default: none. */
  readonly secretFiles?: readonly string[];
  /** Certificates that the server's variables name. Default: none. */
  readonly certificates?: readonly string[];
  /** The HOME folder that survives from one start to the next. */
  readonly keptHome: string | undefined;
  /**
   * Whether the working folder may be read. If not, it exists but is empty unless another rule grants it. Default:
   * true.
   */
  readonly cwdGranted?: boolean;
  /** The config files of the server's workspace, which it may not write. */
  readonly configFiles: ConfigFiles;
  /** Folders that any server of the workspace may write: a link in them grants nothing. Default: none. */
  readonly writableByServers?: readonly string[];
  /** The home of the user who runs Portolan. */
  readonly homedir: string;
  /** Whether arguments may name paths of this machine; those of an image do not. Default: true. */
  readonly namesPaths?: boolean;
}

export interface CreatedPolicy {
  readonly policy: SandboxPolicy;
  /** Rules that no backend could enforce. */
  readonly problems: readonly RuleProblem[];
  /** Paths that the arguments and variables name and the policy does not grant. */
  readonly notGranted: readonly NamedPath[];
}

export const DEFAULT_RESOURCE_LIMITS: ResourceLimits = {
  // Newer runtimes reserve half a GiB of address space per thread, which the kernel counts.
  memoryBytes: 4 * 1024 ** 3,
  processes: 256,
  openFiles: 1024,
};

export async function createPolicy(request: PolicyRequest): Promise<CreatedPolicy> {
  const { program, config } = request;
  const writable = await writableFolders(request);
  const linkable = [...writable, ...(request.writableByServers ?? [])];
  const [system, declared, homes] = await Promise.all([
    systemMounts(request, writable),
    configuredMounts(request, linkable),
    withRealPaths([request.homedir]),
  ]);
  const own = await ownMounts(request, { writable, linkable }, homes);
  const given = [...own.mounts, ...declared.mounts];
  const protectedPaths = await protectedMounts({
    grants: given,
    writable,
    homedir: request.homedir,
    configFiles: request.configFiles,
  });
  const left = given.filter((mount) => !protectedPaths.refused.includes(mount));
  const layers = layered([...system.mounts, ...left, ...protectedPaths.mounts]);
  const grants = layers.filter(({ access }) => access !== "hidden");
  const denials = config?.fs?.deny ?? [];
  const [denied, sockets, envFiles, secretFiles] = await Promise.all([
    deniedMounts(denials, request.homedir, grants, program.file, linkable),
    socketCovers(grants, declared.mounts, request.homedir),
    envFileCovers(request.inferredFolders ?? [], declared.mounts),
    secretFileCovers(request.secretFiles ?? [], grants, declared.mounts),
  ]);
  const asked = given.filter(({ path }) => path !== sep);
  const covers = system.hidden
    .filter(({ path }) => !asked.some((one) => isInside(one.path, path) || isInside(path, one.path)))
    .concat(
      sockets.mounts,
      envFiles,
      secretFiles.filter(({ path }) => !envFiles.some((one) => one.path === path)),
    );
  const hidden = denied.mounts.concat(
    covers.filter(
      ({ path }) =>
        !denied.mounts.some((other) => isInside(path, other.path)) &&
        layers.findLast((other) => isInside(path, other.path))?.access !== "hidden",
    ),
  );
  const mounts = layers
    .filter(({ path }) => !hidden.some((other) => isInside(path, other.path)))
    .concat(hidden);
  // The real path, because the policy may grant a link to it.
  const homedir = homes.at(-1) ?? request.homedir;
  const usual = request.keptHome ?? (homedir === sep ? "/home/user" : homedir);
  // Relative arguments start at the folder that Portolan was started from, whether the server may read it or not.
  const cwd = normalize(program.cwd ?? process.cwd());
  const { named, closed } =
    request.namesPaths === false
      ? NOTHING_NAMED
      : hiddenPaths({ ...program, cwd, script: request.script }, { mounts, home: usual, cwd }, homedir);
  const home =
    request.namesPaths === false || request.keptHome !== undefined || isShown(usual, mounts)
      ? usual
      : otherHome(usual, mounts);
  const limits = Object.entries(config?.limits ?? {}).filter(([, value]) => value !== undefined);
  const parts = [system, own, declared, protectedPaths, denied, sockets];
  const steered = await steeredCwd(program.cwd, request.cwdGranted === false ? writable : linkable, grants);
  return {
    policy: {
      mounts,
      home,
      userHome: home === usual ? undefined : usual,
      cwd: cwd === sep && program.cwd === undefined ? home : cwd,
      closed: home === usual ? closed.filter((path) => path !== home) : [...new Set([...closed, ...homes])],
      network: config?.network ?? [],
      exec: { allow: config?.exec?.allow, spawn: config?.exec?.spawn ?? true },
      limits: { ...DEFAULT_RESOURCE_LIMITS, ...Object.fromEntries(limits) },
      configuredLimits: new Set(limits.map(([name]) => name as keyof ResourceLimits)),
    },
    problems: [...parts.flatMap(({ problems }) => problems), ...steered],
    // A path whose grant failed is a problem of the grant.
    notGranted: named.filter(({ path }) => !declared.refused.some((granted) => isInside(path, granted))),
  };
}

const NOTHING_NAMED: HiddenPaths = { named: [], closed: [] };

/** Whether a rule other than `/` shows the path. */
function isShown(path: string, mounts: readonly Mount[]): boolean {
  const around = mounts.findLast((mount) => mount.path !== sep && isInside(path, mount.path));
  return around !== undefined && around.access !== "hidden";
}

/**
 * The private HOME. It is not at the path of the user's own home, where a write that is not granted must fail
 * instead of being lost.
 */
function otherHome(home: string, mounts: readonly Mount[]): string {
  // Below a granted `/`, the sandbox can create folders in its own /tmp only.
  const candidates = mounts.some(({ path }) => path === sep)
    ? ["/tmp/home"]
    : ["/tmp/home", "/home/portolan"];
  const isFree = (path: string): boolean =>
    !isShown(path, mounts) && !isInside(home, path) && !isInside(path, home);
  return candidates.find(isFree) ?? home;
}

interface Part {
  readonly mounts: readonly Mount[];
  readonly problems: readonly RuleProblem[];
}

async function systemMounts(
  { program, config }: PolicyRequest,
  writable: readonly string[],
): Promise<Part & { readonly hidden: readonly Mount[] }> {
  const allow = config?.exec?.allow;
  const mounts = (list: readonly string[], access: Mount["access"] = "read"): Mount[] =>
    list.map((path) => ({ path, access, reason: "system" }));
  if (allow === undefined) return { mounts: mounts(await systemPaths()), hidden: [], problems: [] };
  const programs = [program.file, ...allow];
  const { paths, hidden, unknown } = await systemWithOnly(programs, program.env["PATH"], writable);
  return {
    mounts: mounts(paths),
    hidden: mounts(hidden, "hidden"),
    problems: unknown.map((name) => ({
      rule: `exec.allow: ${name}`,
      problem: "there is no such program",
      remedy: "Install it, give its full path, or remove it from exec.allow.",
    })),
  };
}

/** The program's folders, the working folder and the kept HOME. */
async function ownMounts(
  {
    program,
    programFolders,
    workspaceFolders = [],
    certificates = [],
    keptHome,
    cwdGranted = true,
  }: PolicyRequest,
  { writable, linkable }: { readonly writable: readonly string[]; readonly linkable: readonly string[] },
  homes: readonly string[],
): Promise<Part> {
  const mounts: Mount[] = [];
  const problems: RuleProblem[] = [];
  const add = async (path: string, access: "read" | "write", reason: Mount["reason"]): Promise<boolean> => {
    const resolved = await resolveLinks(path);
    if (resolved === undefined) return false;
    const { real, links } = resolved;
    if (reason === "cwd" && [real, path].some((one) => isTooWide(one, homes))) return true;
    // If a server created this link, the policy would grant its target at the next start.
    const isSteered = writableLink(links, reason === "cwd" ? linkable : writable) !== undefined;
    for (const one of isSteered ? [] : new Set([real, path])) mounts.push({ path: one, access, reason });
    return true;
  };
  for (const folder of programFolders) await add(folder, "read", "own");
  await add(program.file, "read", "own");
  for (const folder of workspaceFolders) await add(folder, "read", "workspace");
  for (const path of certificates) await add(path, "read", "certificates");
  if (program.cwd !== undefined && cwdGranted) {
    if (!(await add(program.cwd, "read", "cwd"))) {
      problems.push({ rule: `cwd: ${program.cwd}`, ...(await missingPath(program.cwd, true)) });
    }
  }
  if (keptHome !== undefined) await add(keptHome, "write", "kept home");
  return { mounts, problems };
}

/** Working folders that are too wide to grant: they exist and are empty. */
function isTooWide(path: string, homes: readonly string[]): boolean {
  return [...homes, "/tmp", "/proc", "/sys", "/dev", "/run"].some((one) => isInside(one, path));
}

/** Sorts outer folders before inner ones, and leaves out mounts without effect. */
function layered(mounts: readonly Mount[]): Mount[] {
  const kept: Mount[] = [];
  const byDepth = mounts.toSorted((a, b) => depth(a.path) - depth(b.path) || rank(b) - rank(a));
  for (const mount of byDepth) {
    // Over a granted `/` the sandbox mounts its own HOME and /tmp, so that `/` does not cover paths in those.
    const below = kept.findLast(({ path }) => path !== sep && isInside(mount.path, path));
    const isAsked = isGuard(mount) || mount.reason === "declared" || mount.reason === "root";
    // A default mount does not take back what the config grants for writing.
    const isRedundant =
      below !== undefined &&
      (below.access === mount.access || below.path === mount.path || (!isAsked && below.access === "write"));
    if (!isRedundant) kept.push(mount);
  }
  return kept;
}

function isGuard({ reason }: Mount): boolean {
  return reason === "config file" || reason === "portolan";
}

function rank(mount: Mount): number {
  const { access, reason } = mount;
  if (isGuard(mount)) return 4;
  return (access === "write" ? 2 : 0) + (reason === "declared" || reason === "root" ? 1 : 0);
}

/**
 * A working folder behind a link that a server could have created: the policy does not grant the link's target,
 * so that the server could not start there. Empty if another rule grants it.
 */
async function steeredCwd(
  cwd: string | undefined,
  writable: readonly string[],
  grants: readonly Mount[],
): Promise<RuleProblem[]> {
  const resolved = cwd === undefined ? undefined : await resolveLinks(cwd);
  if (resolved === undefined) return [];
  const { real, links } = resolved;
  const link = writableLink(links, writable);
  if (link === undefined || grants.some(({ path }) => isInside(real, path))) return [];
  return [
    {
      rule: `cwd: ${cwd}`,
      problem: `${link.path} is a link in a folder that a server can write to, so the server could redirect it`,
      remedy: `If you created this link, write cwd: ${real}.`,
    },
  ];
}
