// Creates a folder and its missing parents one by one. Node's recursive mkdir reports a read-only disk as a
// missing file, and never returns for a folder in /proc.

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

export async function makeFolder(path: string, mode: number): Promise<void> {
  if (await isMade(path, mode)) return;
  await makeFolder(dirname(path), mode);
  if (!(await isMade(path, mode))) await mkdir(path, { mode });
}

/** False if a parent is missing. */
async function isMade(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) return false;
    // Some systems report a read-only disk although the folder exists.
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) return true;
    throw error;
  }
}
