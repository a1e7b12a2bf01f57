// Privacy of a file or folder: whether only this user can use it.

import { lstat } from "node:fs/promises";

/** Why a file or folder is not private to this user; undefined if it is. Windows has no such modes: its profile is private. */
export async function privacyProblem(path: string): Promise<string | undefined> {
  const found = await lstat(path);
  if (process.platform === "win32" || process.getuid === undefined) return undefined;
  if (found.isSymbolicLink()) return "it is a symbolic link";
  if (found.uid !== process.getuid()) return "it belongs to another user";
  return (found.mode & 0o077) === 0 ? undefined : "other users can access it";
}
