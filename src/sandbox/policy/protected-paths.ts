// Paths that no server may write or see, whatever its sandbox config grants: config files, which decide about
// sandboxes, and Portolan's own data.

import { mkdir, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { isInside, withRealPaths, writableLink, resolveLinks } from "../paths/paths.ts";
import type { Mount, RuleProblem } from "../types.ts";
import { type UsedPaths, usualConfigPaths } from "../../catalog/index.ts";
import { findClientFiles } from "../../formats/clients/index.ts";
import { CONFIG_FILE, OWN_DATA } from "../../model/index.ts";

/** The config files that a workspace was read from. Every sandbox of the workspace has them read-only. */
export interface ConfigFiles {
  /** Paths are never removed: a workspace is read from them again at its next start. */
  add(used: UsedPaths): void;
  readonly paths: ReadonlySet<string>;
  /** Of these files, those with secrets of the gateway. A sandbox hides them unless its config grants them. */
  readonly secrets: ReadonlySet<string>;
  /** Folders that were read as a whole, so that all their config files are in `paths`. */
  readonly workspaces: ReadonlySet<string>;
}

export function createConfigFiles(): ConfigFiles {
  const paths = new Set<string>();
  const secrets = new Set<string>();
  const workspaces = new Set<string>();
  return {
    ...{ paths, secrets, workspaces },
    add(used) {
      if (used.isWhole) workspaces.add(used.folder);
      for (const path of used.paths) paths.add(path);
      for (const path of used.secrets ?? []) secrets.add(path);
    },
  };
}

export interface ProtectedPaths {
  /** Mounts to place between the grants: each covers the grants around it, and is covered by grants inside of it. */
  readonly mounts: readonly Mount[];
  /** Grants that are removed. */
  readonly refused: readonly Mount[];
  readonly problems: readonly RuleProblem[];
}

interface Ground {
  /** All grants except those of the system. */
  readonly grants: readonly Mount[];
  /** Folders that the server may write, as written and as real paths. */
  readonly writable: readonly string[];
  readonly homedir: string;
  /** The config files of the workspace that the server belongs to. */
  readonly configFiles: ConfigFiles;
}

export async function protectedMounts(ground: Ground): Promise<ProtectedPaths> {
  const { default: envPaths } = await import("env-paths");
  const { data, cache, log, config } = envPaths("portolan", { suffix: "" });
  const [own, configFiles] = await Promise.all([
    ownData([data, cache], [log], ground),
    configFilesIn(ground, config),
  ]);
  const parts = [own, configFiles];
  return {
    mounts: parts.flatMap(({ mounts }) => mounts),
    refused: parts.flatMap(({ refused }) => refused),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** Portolan's store, tokens, keys and the HOMEs of other servers. The server's own entries are mounted over this. */
async function ownData(needed: string[], perhaps: string[], ground: Ground): Promise<ProtectedPaths> {
  const { grants, writable } = ground;
  const mounts: Mount[] = [];
  const refused: Mount[] = [];
  const problems: RuleProblem[] = [];
  for (const folder of [...needed, ...perhaps]) {
    const real = await realpath(folder).catch(() => folder);
    const isOf = (path: string): boolean => [folder, real].some((one) => isInside(path, one));
    const around = grants.filter(({ path }) => [folder, real].some((one) => isInside(one, path)));
    for (const mount of grants.filter(({ path, reason }) => isGiven(reason) && isOf(path))) {
      if (isOwn(mount.path, grants)) continue;
      refused.push(mount);
      problems.push({
        rule: ruleOf(mount),
        problem: OWN_DATA,
        remedy: remedyFor(mount, "Remove it from the server's config."),
      });
    }
    if (around.length === 0) continue;
    // A folder that does not exist cannot be covered, and the server could create it later.
    if (needed.includes(folder)) await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {});
    const resolved = await resolveLinks(folder);
    const link = writableLink(resolved?.links ?? [], writable);
    if (link !== undefined) problems.push(steered(link.path, "Portolan's own data", ground));
    if (resolved !== undefined) mounts.push({ path: resolved.real, access: "hidden", reason: "portolan" });
  }
  return { mounts, refused, problems };
}

/** Whether the policy of a server would refuse a grant to write this path, because it is a config file. */
export async function refusesWriteGrant(
  path: string,
  place: Pick<Ground, "configFiles" | "homedir">,
): Promise<boolean> {
  const { default: envPaths } = await import("env-paths");
  const grants = (await withRealPaths([path])).map((one): Mount => ({
    path: one,
    access: "write",
    reason: "declared",
  }));
  const ground = { ...place, grants, writable: [] };
  return (await configFilesIn(ground, envPaths("portolan", { suffix: "" }).config)).refused.length > 0;
}

async function configFilesIn(ground: Ground, config: string): Promise<ProtectedPaths> {
  const written = ground.grants.filter(({ access, reason }) => access === "write" && reason !== "kept home");
  if (written.length === 0) return { mounts: [], refused: [], problems: [] };
  const { paths, workspaces } = ground.configFiles;
  const tops = new Set([...written.map(({ path }) => path), process.cwd()]);
  const candidates = new Set([
    ...paths,
    ...[...tops].filter((top) => !workspaces.has(top)).flatMap((top) => usualConfigPaths(top)),
    config,
    ...(await ofClients(written, ground.homedir)),
  ]);
  const mounts = new Map<string, Mount>();
  const refused: Mount[] = [];
  const problems = new Map<string, RuleProblem>();
  const all = await Promise.all(
    [...candidates].map(async (path) => ({ path, resolved: await resolveLinks(path) })),
  );
  for (const { path, resolved } of all) {
    // A file that does not exist cannot be covered; the write history refuses it when it appears.
    if (resolved === undefined) continue;
    const link = writableLink(resolved.links, ground.writable);
    if (link !== undefined) problems.set(link.path, steered(link.path, "config files", ground));
    const { real } = resolved;
    if (!written.some((mount) => isInside(real, mount.path))) continue;
    const named = written.filter((mount) => mount.path === real || mount.path === path);
    // The folder may be a workspace, whose config files are protected one by one.
    if (path === config && named.length > 0) continue;
    const there = await stat(real).catch(() => undefined);
    for (const mount of named) {
      refused.push(mount);
      problems.set(mount.path, {
        rule: ruleOf(mount),
        problem: CONFIG_FILE,
        remedy: remedyFor(mount, "Grant it with fs.read."),
      });
    }
    if (there?.isFile() === true && there.nlink > 1) {
      problems.set(real, {
        rule: ruleAround(real, ground),
        problem: `${real} is a config file with a hard link, through which the server could write it`,
        remedy: `Make it a file of its own: cp ${real} ${real}.new && mv ${real}.new ${real}`,
      });
    }
    mounts.set(real, { path: real, access: "read", reason: "config file" });
  }
  return { mounts: [...mounts.values()], refused, problems: [...problems.values()] };
}

/** Config files of other MCP clients, by which those start servers. They are in settings folders of the home. */
async function ofClients(written: readonly Mount[], homedir: string): Promise<string[]> {
  const homes = [homedir, await realpath(homedir).catch(() => homedir)];
  const isNear = (path: string): boolean =>
    homes.some((home) => {
      const way = relative(home, path);
      const isBelow = way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
      return isInside(home, path) || (isBelow && /^(?:\.|Library|AppData)/.test(way));
    });
  if (!written.some(({ path }) => isNear(path))) return [];
  const found = await findClientFiles({ home: homedir });
  return found.map(({ file }) => file);
}

/** Granted by a config or a caller, not inferred from the program. */
function isGiven(reason: Mount["reason"]): boolean {
  return reason === "declared" || reason === "root" || reason === "cwd";
}

/** The server's own entry of the store, and its kept HOME. */
function isOwn(path: string, grants: readonly Mount[]): boolean {
  return grants.some(
    (mount) => (mount.reason === "own" || mount.reason === "kept home") && isInside(path, mount.path),
  );
}

/** A root and a working folder are not in `fs`. */
function remedyFor({ reason }: Mount, declared: string): string {
  if (reason === "root") return "Use another folder as the root.";
  return reason === "cwd" ? "Set another cwd." : declared;
}

function steered(link: string, what: string, ground: Ground): RuleProblem {
  return {
    rule: ruleAround(link, ground),
    problem: `${link} leads to ${what} through a link that the server could change`,
    remedy: `Replace the link with its target, or grant a narrower folder.`,
  };
}

function ruleAround(path: string, { grants }: Ground): string {
  const around = grants.findLast((mount) => mount.access === "write" && isInside(path, mount.path));
  return around === undefined ? `fs: ${path}` : ruleOf(around);
}

function ruleOf({ path, access, reason }: Mount): string {
  if (reason === "root" || reason === "cwd") return `${reason}: ${path}`;
  return `fs.${access}: ${path}`;
}
