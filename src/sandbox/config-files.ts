// Config files in use: the paths that a workspace was read from. Every sandbox of the workspace has them read-only.

import type { UsedPaths } from "../catalog/index.ts";

export interface ConfigFiles {
  /** Paths are never removed: a workspace is read from them again at its next start. */
  add(used: UsedPaths): void;
  readonly paths: ReadonlySet<string>;
  /** Folders that were read as a whole, so that all their config files are in `paths`. */
  readonly workspaces: ReadonlySet<string>;
}

export function createConfigFiles(): ConfigFiles {
  const paths = new Set<string>();
  const workspaces = new Set<string>();
  return {
    paths,
    workspaces,
    add(used) {
      if (used.isWhole) workspaces.add(used.folder);
      for (const path of used.paths) paths.add(path);
    },
  };
}
