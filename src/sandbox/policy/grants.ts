// What a declaration and a caller grant and deny, as mounts; what cannot be one is told in the declaration's own words.

import { sep } from "node:path";
import { type MissingPath, missingPath } from "../paths/missing-path.ts";
import { expandPattern, folderOf, parseDeclared } from "../paths/path-pattern.ts";
import { bothWays, isInside, laidLink, resolveLinks } from "../paths/paths.ts";
import type { Clause, Mount } from "../types.ts";
import type { BoxRequest } from "./create-policy.ts";

/** The kernel's own; a box has its own of each. */
const KERNEL = ["/proc", "/sys", "/dev"];

export interface Mounts {
  readonly mounts: Mount[];
  readonly problems: Clause[];
}

type Access = "read" | "write";

interface Grant {
  readonly clause: string;
  readonly path: string;
  readonly access: Access;
}

/** Folders in which the server itself may lay files and links, in both spellings: what is found there must not decide what it is given. */
export async function writableFolders({
  declaration,
  roots,
  keptHome,
  homedir,
}: Pick<BoxRequest, "declaration" | "roots" | "keptHome" | "homedir">): Promise<string[]> {
  const written = declaration?.fs?.write ?? [];
  const declared = await Promise.all(written.map((one) => paths("fs.write", one, homedir)));
  const found = declared.flatMap((one) => (Array.isArray(one) ? one : []));
  return bothWays([...found, ...roots, ...(keptHome === undefined ? [] : [keptHome])]);
}

export async function declaredMounts(
  { declaration, roots, homedir }: BoxRequest,
  writable: readonly string[],
): Promise<Mounts> {
  const problems: Clause[] = [];
  const grants: Grant[] = [];
  for (const access of ["read", "write"] as const) {
    for (const written of declaration?.fs?.[access] ?? []) {
      const clause = `fs.${access}: ${written}`;
      const found = await paths(clause, written, homedir);
      if (Array.isArray(found)) grants.push(...found.map((path) => ({ clause, path, access })));
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
    }
  }
  for (const root of roots) {
    const found = await granted({ clause: `root: ${root}`, path: root, access: "write" }, writable);
    // A caller may name folders that are not on this machine; it is not the server's fault.
    if (Array.isArray(found)) {
      mounts.push(...found.map((path) => ({ path, access: "write" as const, reason: "root" as const })));
    } else if (root === sep) {
      problems.push(found);
    }
  }
  return { mounts, problems };
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
    const declared = parseDeclared(written, homedir);
    const tell = (problem: string, remedy: string): number =>
      found.problems.push({ clause: `fs.deny: ${written}`, problem, remedy });
    if (declared.pattern !== undefined) {
      tell(
        "a pattern cannot be hidden: files that match may come at any time",
        `Name the files, or the folder ${declared.path}.`,
      );
      continue;
    }
    const resolved = await resolveLinks(declared.path);
    const real = resolved?.real ?? declared.path;
    const needed = own.find((path) => isInside(path, real));
    const laid = laidLink(resolved?.links ?? [], writable);
    if (laid !== undefined) {
      tell(
        `${laid.path} is a link in a folder that the server may write to, so it could lead elsewhere next time`,
        `Deny ${real} itself.`,
      );
    } else if (needed !== undefined) {
      tell(`it hides ${needed}, which the server itself is run from`, "Deny something narrower.");
    } else if (resolved === undefined && grants.some(({ path }) => isInside(real, path))) {
      tell(
        "it does not exist, and would be seen as soon as it does",
        `${createFirst(await missingPath(declared.path))}, or take it out of fs.deny.`,
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

async function paths(clause: string, written: string, homedir: string): Promise<string[] | Clause> {
  const declared = parseDeclared(written, homedir);
  if (declared.pattern === undefined) return [declared.path];
  const found = await expandPattern(declared);
  if (found !== undefined && found.length > 0) return found;
  const problem =
    found === undefined
      ? "it matches too much to give piece by piece"
      : "nothing matches it now, and what comes later would not be seen";
  return { clause, problem, remedy: `Grant the folder ${folderOf(declared)}.` };
}

/** What is granted, and the place it really lies at. */
async function granted(
  { clause, path, access }: Grant,
  writable: readonly string[],
): Promise<string[] | Clause> {
  const resolved = await resolveLinks(path);
  if (resolved === undefined) {
    return { clause, ...(await missingPath(path)) };
  }
  const { real, links } = resolved;
  const kernel = KERNEL.find((one) => isInside(real, one) || isInside(path, one));
  if (kernel !== undefined) {
    return { clause, problem: `a box has its own ${kernel}`, remedy: `Take it out of the declaration.` };
  }
  if (real === sep && access === "write") {
    return { clause, problem: "that is the whole machine", remedy: "Name the folders that it works in." };
  }
  // Otherwise a server could lay a link into a folder it may write to, and be given what that leads to at the next start.
  const steered = laidLink(links, writable);
  if (steered !== undefined) {
    return {
      clause,
      problem: `${steered.path} is a link in a folder that the server may write to, so it could lead anywhere`,
      remedy: `Grant ${real} itself.`,
    };
  }
  return [...new Set([real, path])];
}
