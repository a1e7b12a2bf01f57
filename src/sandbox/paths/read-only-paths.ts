// Finds paths that a sandbox shows and does not let the server write: the reason of many EROFS and EACCES errors.

import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { MountReason, SandboxPolicy } from "../types.ts";
import type { ConfigFiles } from "../policy/protected-paths.ts";
import { type NamedPath, realOf } from "./hidden-paths.ts";
import { expandHome, isInside } from "./paths.ts";

const CONFIG_FILE = "a config file that can contain sandbox rules";

/** Paths that no grant makes writable. */
const PROTECTED: Partial<Record<MountReason, string>> = {
  own: "a part of the server's own program",
  workspace: "a package that the server's program uses",
};

/**
 * Of these paths, those that the policy grants for reading only. The system's own files are not reported. `isProject`:
 * the program is one of the user's own project, in which the user can grant folders. `configFiles`: the policy contains
 * them only if a folder around them may be written.
 */
export function readOnlyPaths(
  words: readonly string[],
  policy: SandboxPolicy,
  isProject = false,
  configFiles: ConfigFiles["paths"] = new Set(),
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
    const isConfig =
      around.reason === "config file" ||
      [path, own?.grant].some((one) => one !== undefined && isAmong(one, configFiles));
    if (own !== undefined && !isConfig) return [{ where: "", isReadOnly: true, ...own }];
    const isSecret = isConfig && /\.env(?:\.|$)/.test(basename(path));
    const protectedAs = isSecret ? "a file with secrets" : isConfig ? CONFIG_FILE : PROTECTED[around.reason];
    const isGrant = protectedAs === undefined;
    return [{ path, where: "", isReadOnly: true, protectedAs, grant: isGrant ? around.path : undefined }];
  });
}

function isAmong(path: string, files: ConfigFiles["paths"]): boolean {
  const real = realOf(path);
  return files.has(path) || [...files].some((file) => realOf(file) === real);
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
