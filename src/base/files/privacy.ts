// Privacy of a file or folder: whether only this user can use it.

import { lstat } from "node:fs/promises";
import { shellWord } from "../text/command-line.ts";

const FOREIGN = "it belongs to another user";

/** Why a file or folder is not private to this user; undefined if it is. Windows has no such modes: its profile is private. */
export async function privacyProblem(path: string): Promise<string | undefined> {
  const found = await lstat(path);
  if (process.platform === "win32" || process.getuid === undefined) return undefined;
  if (found.isSymbolicLink()) return "it is a symbolic link";
  if (found.uid !== process.getuid()) return FOREIGN;
  return (found.mode & 0o077) === 0 ? undefined : "other users can access it";
}

/** The hint of an error about a folder that is not private. `elsewhere` tells the user how to use another folder. */
export function privacyHint(folder: string, problem: string, elsewhere: string): string {
  // In a folder such as /tmp, a user cannot remove the folders of other users.
  return problem === FOREIGN
    ? `Ask an administrator to remove the folder, or use another folder: ${elsewhere}`
    : `It must be a folder that belongs to you and that only you can access. Remove the folder: Portolan creates it again. If only its permissions are wrong, correct them instead: chmod 700 ${shellWord(folder)}`;
}
