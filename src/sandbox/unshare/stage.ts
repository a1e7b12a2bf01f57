// Folders of the machine that a sandbox may cover while it is created: inside of its own namespace only.

import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import { isInside } from "../paths/paths.ts";

export const CANDIDATES = ["/mnt", "/media", "/srv", "/opt", "/boot", "/home", "/var", "/run", "/tmp"];

/** Two folders that contain none of the paths. Fewer if the machine has no more. */
export async function findStages(paths: readonly string[]): Promise<string[]> {
  const stages: string[] = [];
  for (const folder of CANDIDATES) {
    if (paths.some((path) => isInside(path, folder)) || !(await isUsable(folder))) continue;
    if (stages.push(folder) === 2) break;
  }
  return stages;
}

async function isUsable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.X_OK);
    return (await realpath(folder)) === folder;
  } catch {
    return false;
  }
}
