// A folder with all that is missing above it, made step by step: Node's own way tells of a disk that may only be read as of something that is not there, and of a folder in /proc never.

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

export async function makeFolder(path: string, mode: number): Promise<void> {
  if (await isMade(path, mode)) return;
  await makeFolder(dirname(path), mode);
  if (!(await isMade(path, mode))) await mkdir(path, { mode });
}

/** False when something above it is missing. */
async function isMade(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) return false;
    // Some systems say of a folder that is there that the disk may only be read.
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) return true;
    throw error;
  }
}
