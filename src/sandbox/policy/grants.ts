// Mounts that the sandbox config and the caller's roots grant or deny, and the problems of rules that cannot
// become a mount.

import { sep } from "node:path";
import { type MissingPath, missingPath } from "../paths/missing-path.ts";
import { expandPattern, folderOf, parseConfigured } from "../paths/path-pattern.ts";
import { withRealPaths, isInside, writableLink, resolveLinks } from "../paths/paths.ts";
import type { RuleProblem, Mount } from "../types.ts";
import type { PolicyRequest } from "./create-policy.ts";

/** Kernel file systems, of which every sandbox has its own. */
const KERNEL = ["/proc", "/sys", "/dev"];

export interface Mounts {
  readonly mounts: Mount[];
  readonly problems: RuleProblem[];
}

type Access = "read" | "write";

interface Grant {
  readonly rule: string;
  readonly path: string;
  readonly access: Access;
}

/**
 * Folders in which the server can create files and links, as written and as real paths. Files found there must not
 * decide what the policy grants.
 */
export async function writableFolders({
  config,
  roots,
  keptHome,
  homedir,
}: Pick<PolicyRequest, "config" | "roots" | "keptHome" | "homedir">): Promise<string[]> {
  const written = config?.fs?.write ?? [];
  const declared = await Promise.all(written.map((one) => paths("fs.write", one, homedir)));
  const found = declared.flatMap((one) => (Array.isArray(one) ? one : []));
  return withRealPaths([...found, ...roots, ...(keptHome === undefined ? [] : [keptHome])]);
}

/** `refused` are the paths that the config grants and that cannot be granted, for example because they do not exist. */
export async function configuredMounts(
  { config, roots, homedir }: PolicyRequest,
  writable: readonly string[],
): Promise<Mounts & { readonly refused: readonly string[] }> {
  const refused: string[] = [];
  const problems: RuleProblem[] = [];
  const grants: Grant[] = [];
  for (const access of ["read", "write"] as const) {
    for (const written of config?.fs?.[access] ?? []) {
      const rule = `fs.${access}: ${written}`;
      const found = await paths(rule, written, homedir);
      if (Array.isArray(found)) grants.push(...found.map((path) => ({ rule, path, access })));
      else problems.push(found);
    }
  }
  const mounts: Mount[] = [];
  for (const grant of grants) {
    const found = await granted(grant, writable);
    if (Array.isArray(found)) {
      mounts.push(...found.map((path) => ({ path, access: grant.access, reason: "declared" as const })));
    } else {
      problems.push(found);
      refused.push(grant.path);
    }
  }
  for (const root of roots) {
    const found = await granted({ rule: `root: ${root}`, path: root, access: "write" }, writable);
    // A caller may name folders that do not exist on this machine, which is no problem of the server.
    if (Array.isArray(found)) {
      mounts.push(...found.map((path) => ({ path, access: "write" as const, reason: "root" as const })));
    } else if (root === sep) {
      problems.push(found);
    }
  }
  return { mounts, problems, refused };
}

export async function deniedMounts(
  denied: readonly string[],
  homedir: string,
  grants: readonly Mount[],
  program: string,
  writable: readonly string[],
): Promise<Mounts> {
  const found: Mounts = { mounts: [], problems: [] };
  const own = grants.flatMap(({ path, reason }) => (reason === "own" ? [path] : []));
  own.push((await resolveLinks(program))?.real ?? program);
  for (const written of denied) {
    const declared = parseConfigured(written, homedir);
    const tell = (problem: string, remedy: string): number =>
      found.problems.push({ rule: `fs.deny: ${written}`, problem, remedy });
    if (declared.pattern !== undefined) {
      tell(
        "a pattern cannot be hidden: matching files can be created at any time",
        `Name the files, or the folder ${declared.path}.`,
      );
      continue;
    }
    const resolved = await resolveLinks(declared.path);
    const real = resolved?.real ?? declared.path;
    const needed = own.find((path) => isInside(path, real));
    const link = writableLink(resolved?.links ?? [], writable);
    if (link !== undefined) {
      tell(
        `${link.path} is a link in a folder that a server can write to, so the server could redirect it`,
        `Deny ${real} itself.`,
      );
    } else if (needed !== undefined) {
      tell(
        `it would hide ${needed}, which the server itself runs from`,
        "Deny a folder or file that the server does not run from.",
      );
    } else if (resolved === undefined && grants.some(({ path }) => isInside(real, path))) {
      tell(
        "it does not exist now, and the server would see it as soon as it is created",
        `${createFirst(await missingPath(declared.path))}, or remove it from fs.deny.`,
      );
    } else {
      found.mounts.push({ path: real, access: "hidden", reason: "declared" });
    }
  }
  return found;
}

function createFirst({ remedy }: MissingPath): string {
  return remedy.startsWith("mkdir") ? `Create it first (${remedy})` : remedy.replace(/\.$/, "");
}

async function paths(rule: string, written: string, homedir: string): Promise<string[] | RuleProblem> {
  const declared = parseConfigured(written, homedir);
  if (declared.pattern === undefined) return [declared.path];
  const found = await expandPattern(declared);
  if (found !== undefined && found.length > 0) return found;
  const problem =
    found === undefined
      ? "it matches too many files to grant each of them"
      : "no file matches it now, and later files would not be granted";
  return { rule, problem, remedy: `Grant the folder ${folderOf(declared)}.` };
}

/** The granted path and its real location. */
async function granted(
  { rule, path, access }: Grant,
  writable: readonly string[],
): Promise<string[] | RuleProblem> {
  const resolved = await resolveLinks(path);
  if (resolved === undefined) {
    return { rule, ...(await missingPath(path)) };
  }
  const { real, links } = resolved;
  const kernel = KERNEL.find((one) => isInside(real, one) || isInside(path, one));
  if (kernel !== undefined) {
    return {
      rule,
      problem: `every sandbox has its own ${kernel}`,
      remedy: `Remove it from the server's config.`,
    };
  }
  if (real === sep && access === "write") {
    return {
      rule,
      problem: "it is the whole file system",
      remedy: "Grant the folders that the server works in.",
    };
  }
  // If a server created this link in a folder that it may write, the policy would grant its target at the next
  // start.
  const steered = writableLink(links, writable);
  if (steered !== undefined) {
    return {
      rule,
      problem: `${steered.path} is a link in a folder that a server can write to, so the server could redirect it`,
      remedy: `If you created this link, grant ${real} itself.`,
    };
  }
  return [...new Set([real, path])];
}
