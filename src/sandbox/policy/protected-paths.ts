// What no box may change or see, whatever is granted: the declarations that decide about boxes, and Portolan's own data.

import { mkdir, realpath, stat } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { isInside, laidLink, resolveLinks } from "../paths/paths.ts";
import type { Clause, Mount } from "../types.ts";

export interface Guarded {
  /** To be laid between the grants: they cover what is around them, and what is granted inside of them covers them. */
  readonly mounts: readonly Mount[];
  /** Grants that are left out. */
  readonly refused: readonly Mount[];
  readonly problems: readonly Clause[];
}

interface Ground {
  /** All that is granted, but the system. */
  readonly grants: readonly Mount[];
  /** Folders that the server may write, in both spellings. */
  readonly writable: readonly string[];
  readonly homedir: string;
}

export async function guardedMounts(ground: Ground): Promise<Guarded> {
  const { default: envPaths } = await import("env-paths");
  const { data, cache, log, config } = envPaths("portolan", { suffix: "" });
  const [own, declarations] = await Promise.all([
    ownData([data, cache], [log], ground),
    declarationsIn(ground, config),
  ]);
  const parts = [own, declarations];
  return {
    mounts: parts.flatMap(({ mounts }) => mounts),
    refused: parts.flatMap(({ refused }) => refused),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

/** The store of packages, tokens, keys, homes of other servers. What a server has of its own in there it is given over this. */
async function ownData(needed: string[], perhaps: string[], ground: Ground): Promise<Guarded> {
  const { grants, writable } = ground;
  const mounts: Mount[] = [];
  const refused: Mount[] = [];
  const problems: Clause[] = [];
  for (const folder of [...needed, ...perhaps]) {
    const real = await realpath(folder).catch(() => folder);
    const isOf = (path: string): boolean => [folder, real].some((one) => isInside(path, one));
    const around = grants.filter(({ path }) => [folder, real].some((one) => isInside(one, path)));
    for (const mount of grants.filter(({ path, reason }) => isGiven(reason) && isOf(path))) {
      if (isOwn(mount.path, grants)) continue;
      refused.push(mount);
      problems.push({
        clause: clauseOf(mount),
        problem: "it is Portolan's own data, which no server may see",
        remedy: "Take it out of the declaration.",
      });
    }
    if (around.length === 0) continue;
    // What is not there yet could not be covered, and would be seen, or be made by the server, later.
    if (needed.includes(folder)) await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {});
    const resolved = await resolveLinks(folder);
    const laid = laidLink(resolved?.links ?? [], writable);
    if (laid !== undefined) problems.push(steered(laid.path, "Portolan's own data", ground));
    if (resolved !== undefined) mounts.push({ path: resolved.real, access: "hidden", reason: "portolan" });
  }
  return { mounts, refused, problems };
}

async function declarationsIn(ground: Ground, config: string): Promise<Guarded> {
  const written = ground.grants.filter(({ access, reason }) => access === "write" && reason !== "kept home");
  if (written.length === 0) return { mounts: [], refused: [], problems: [] };
  const { declarationsInUse, usualDeclarations } = await import("../../catalog/index.ts");
  const tops = new Set([...written.map(({ path }) => path), process.cwd()]);
  const candidates = new Set([
    ...declarationsInUse(),
    ...[...tops].flatMap((top) => usualDeclarations(top)),
    config,
    ...(await ofClients(written, ground.homedir)),
  ]);
  const mounts = new Map<string, Mount>();
  const refused: Mount[] = [];
  const problems = new Map<string, Clause>();
  const all = await Promise.all(
    [...candidates].map(async (path) => ({ path, resolved: await resolveLinks(path) })),
  );
  for (const { path, resolved } of all) {
    // Nobody can cover what is not there; what comes later is not taken while servers run.
    if (resolved === undefined) continue;
    const laid = laidLink(resolved.links, ground.writable);
    if (laid !== undefined) problems.set(laid.path, steered(laid.path, "declarations", ground));
    const { real } = resolved;
    if (!written.some((mount) => isInside(real, mount.path))) continue;
    const named = written.filter((mount) => mount.path === real || mount.path === path);
    // A workspace may be in there: then its declarations are looked after one by one.
    if (path === config && named.length > 0) continue;
    const there = await stat(real).catch(() => undefined);
    for (const mount of named) {
      refused.push(mount);
      problems.set(mount.path, {
        clause: clauseOf(mount),
        problem: "declarations decide about sandboxes, so that no server may write them",
        remedy: "Grant it with fs.read.",
      });
    }
    if (there?.isFile() === true && there.nlink > 1) {
      problems.set(real, {
        clause: clauseAround(real, ground),
        problem: `${real} is a declaration, and has another name by which the server could write it (a hard link)`,
        remedy: `Make it a file of its own: cp ${real} ${real}.new && mv ${real}.new ${real}`,
      });
    }
    mounts.set(real, { path: real, access: "read", reason: "declaration" });
  }
  return { mounts: [...mounts.values()], refused, problems: [...problems.values()] };
}

/** The files of other clients, by which those start servers. They are in the home, in folders of settings. */
async function ofClients(written: readonly Mount[], homedir: string): Promise<string[]> {
  const homes = [homedir, await realpath(homedir).catch(() => homedir)];
  const isNear = (path: string): boolean =>
    homes.some((home) => {
      const way = relative(home, path);
      const isBelow = way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
      return isInside(home, path) || (isBelow && /^(?:\.|Library|AppData)/.test(way));
    });
  if (!written.some(({ path }) => isNear(path))) return [];
  const { findClientFiles } = await import("../../formats/clients/index.ts");
  const found = await findClientFiles({ home: homedir });
  return found.map(({ file }) => file);
}

/** Granted by somebody, and not inferred from what the server is. */
function isGiven(reason: Mount["reason"]): boolean {
  return reason === "declared" || reason === "root" || reason === "cwd";
}

/** Its own entry of the store, and its kept HOME. */
function isOwn(path: string, grants: readonly Mount[]): boolean {
  return grants.some(
    (mount) => (mount.reason === "own" || mount.reason === "kept home") && isInside(path, mount.path),
  );
}

function steered(link: string, what: string, ground: Ground): Clause {
  return {
    clause: clauseAround(link, ground),
    problem: `${link} leads to ${what}, and is a link, which the server could change`,
    remedy: `Put what it leads to in its place, or grant something narrower.`,
  };
}

function clauseAround(path: string, { grants }: Ground): string {
  const around = grants.findLast((mount) => mount.access === "write" && isInside(path, mount.path));
  return around === undefined ? `fs: ${path}` : clauseOf(around);
}

function clauseOf({ path, access, reason }: Mount): string {
  if (reason === "root" || reason === "cwd") return `${reason}: ${path}`;
  return `fs.${access}: ${path}`;
}
