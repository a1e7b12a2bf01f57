// Watches the files of a catalog, including those that do not exist yet.

import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import { isHidden } from "../files/glob.ts";
import type { WatchPlan } from "../load.ts";

/**
 * The watch does not keep a program running that has forgotten to close it. On Windows it does: there, the deletion of
 * a watched folder is an error, which chokidar handles for persistent watches only.
 */
const persistent = process.platform === "win32";

export interface FileWatch {
  /** Resolves when the watch is active. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

export function watchPlan(
  folder: string,
  plan: WatchPlan,
  onChange: () => void,
  onError: (error: unknown) => void,
): FileWatch {
  let closed = false;
  let closeWatcher: (() => Promise<void>) | undefined;
  let finish = (): void => {};
  const end = new Promise<void>((done) => (finish = done));
  const start = async (): Promise<void> => {
    const { watch } = await import("chokidar");
    if (closed) return;
    const roots = rootsOf(folder, plan);
    const ignored = createFilter(roots, plan);
    const watcher = watch(roots, { ignored, ignoreInitial: true, followSymlinks: true, persistent });
    closeWatcher = () => watcher.close();
    watcher.on("all", onChange);
    watcher.on("error", onError);
    await Promise.race([end, new Promise<void>((done) => watcher.once("ready", () => done()))]);
  };
  const ready = start();
  return {
    ready,
    close: async () => {
      closed = true;
      finish();
      await closeWatcher?.();
    },
  };
}

/** Returns the folder of the workspace and those of sources elsewhere. For a missing folder, the nearest existing parent is watched. */
function rootsOf(folder: string, plan: WatchPlan): string[] {
  const elsewhere = [...plan.files.map((file) => dirname(file)), ...plan.folders].filter(
    (path) => !isInside(path, folder),
  );
  return [...new Set([folder, ...elsewhere].map(nearestFolder))];
}

/** Returns true for paths that need no watch: not a file of the plan, not on the way to one, and not below the folder of a pattern. */
function createFilter(roots: readonly string[], plan: WatchPlan): (path: string) => boolean {
  const wanted = new Set(roots);
  for (const path of [...plan.files, ...plan.folders]) {
    for (let step = path; !wanted.has(step); step = dirname(step)) {
      wanted.add(step);
      if (dirname(step) === step) break;
    }
  }
  return (path) => {
    const full = resolve(path);
    if (wanted.has(full)) return false;
    return !plan.folders.some((top) => isInside(full, top) && !relative(top, full).split(sep).some(isHidden));
  };
}

function nearestFolder(path: string): string {
  let found = path;
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found);
  return found;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!way.startsWith("..") && resolve(folder, way) === path);
}
