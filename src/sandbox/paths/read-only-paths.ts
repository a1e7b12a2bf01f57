// Finds paths that a sandbox shows and does not let the server write: the reason of many EROFS and EACCES errors.

import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { MountReason, SandboxPolicy } from "../types.ts";
import type { NamedPath } from "./hidden-paths.ts";
import { expandHome, isInside } from "./paths.ts";

/** Paths that no grant makes writable. */
const PROTECTED: Partial<Record<MountReason, string>> = {
  "config file": "a config file that can contain sandbox rules",
  own: "a part of the server's own program",
  workspace: "a package that the server's program uses",
};

/**
 * Of these paths, those that the policy grants for reading only. The system's own files are not reported. `isProject`:
 * the program is one of the user's own project, in which the user can grant folders.
 */
export function readOnlyPaths(
  words: readonly string[],
  policy: SandboxPolicy,
  isProject = false,
): NamedPath[] {
  const { mounts, home, userHome = home } = policy;
  return words.flatMap((word): NamedPath[] => {
    const written = expandHome(word, userHome);
    if (!written.startsWith("/")) return [];
    const path = resolve(written);
    const around = mounts.findLast((mount) => isInside(path, mount.path));
    if (around?.access !== "read" || around.reason === "system" || around.reason === "certificates")
      return [];
    const own = isProject && around.reason === "own" ? ownData(path, around.path) : undefined;
    if (own !== undefined) return [{ where: "", isReadOnly: true, ...own }];
    const isSecret = around.reason === "config file" && /\.env(?:\.|$)/.test(basename(path));
    const protectedAs = isSecret ? "a file with secrets" : PROTECTED[around.reason];
    const isGrant = protectedAs === undefined;
    return [{ path, where: "", isReadOnly: true, protectedAs, grant: isGrant ? around.path : undefined }];
  });
}

/** The part of a project that a grant would make writable; undefined for its top folder and for packages in it. */
function ownData(path: string, project: string): Pick<NamedPath, "path" | "grant" | "isNew"> | undefined {
  if (path === project || /\/node_modules(?:\/|$)/.test(path)) return undefined;
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const grant = isFolder || dirname(path) === project ? path : dirname(path);
  return statSync(grant, { throwIfNoEntry: false }) === undefined
    ? { path: grant, grant, isNew: true }
    : { path, grant };
}
