// Config paths: the files and folders that decide about sandboxes, so that no server may write them.

import { join } from "node:path";
import { OWN_NAMES, USUAL_NAMES } from "../types.ts";

/** Folders of a workspace that contain config files and nothing else. */
const OWN_FOLDERS = [".drivers", ".secrets"];

/** The paths that one workspace was read from. */
export interface UsedPaths {
  readonly folder: string;
  /** Whether the whole folder was read, not only one file of it. */
  readonly isWhole: boolean;
  /** Absolute, as written; also paths that were looked for and do not exist. */
  readonly paths: readonly string[];
}

export function usedPaths(
  folder: string,
  isWhole: boolean,
  files: readonly (string | undefined)[],
): UsedPaths {
  const own = [...OWN_NAMES, ...OWN_FOLDERS].map((name) => join(folder, name));
  return { folder, isWhole, paths: [...own, ...files].filter((path) => path !== undefined) };
}

/** The paths that would be read if this folder were a workspace, except for names that other programs use as well. */
export function usualConfigPaths(folder: string): readonly string[] {
  const names = USUAL_NAMES.filter((name) => !name.startsWith("manifest."));
  return [...OWN_NAMES, ...names, ...OWN_FOLDERS].map((name) => join(folder, name));
}
