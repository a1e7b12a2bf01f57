// The declarations that this program has read, and where it would look for some: what they say decides about sandboxes, so that no server may write them.

import { join } from "node:path";
import { OWN_NAMES, USUAL_NAMES } from "../types.ts";

/** Folders of a workspace that hold declarations and nothing else. */
const OWN_FOLDERS = [".drivers", ".secrets"];

const paths = new Set<string>();
/** Folders of which it is known what is read from them. */
const workspaces = new Set<string>();

/** Never taken back: what a workspace was read from is also what it will be read from at the next start. `isWhole`: not only one file of the folder. */
export function noteInUse(folder: string, isWhole: boolean, files: readonly (string | undefined)[]): void {
  if (isWhole) workspaces.add(folder);
  const own = [...OWN_NAMES, ...OWN_FOLDERS].map((name) => join(folder, name));
  for (const path of [...own, ...files]) if (path !== undefined) paths.add(path);
}

/** Files and folders of every workspace that was read, also those that are looked for in vain; absolute, as they are written. */
export function declarationsInUse(): readonly string[] {
  return [...paths];
}

/** What would be read if this folder were a workspace. Not what other programs have names like it for. */
export function usualDeclarations(folder: string): readonly string[] {
  if (workspaces.has(folder)) return [];
  const names = USUAL_NAMES.filter((name) => !name.startsWith("manifest."));
  return [...OWN_NAMES, ...names, ...OWN_FOLDERS].map((name) => join(folder, name));
}
