// Facts about finding programs: the folders of PATH, the endings of program files on Windows, and what counts as a program.

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute } from "node:path";

/** Folders that are searched where the environment has no PATH. */
export const DEFAULT_SEARCH_PATH = ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

/** Returns the folders of a PATH. An empty or relative entry means the current folder, where anyone may put a program, and is skipped. */
export function searchFolders(path: string | undefined): string[] {
  return (path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
}

/** Returns the endings to try after a command on Windows. `extensions` is the variable PATHEXT. */
export function windowsEndings(command: string, extensions = ".COM;.EXE;.BAT;.CMD"): string[] {
  const known = extensions.toLowerCase().split(";");
  return known.some((ending) => ending !== "" && command.toLowerCase().endsWith(ending)) ? [""] : known;
}

/** Returns true for a file that this user may execute. Windows decides by the ending alone. */
export async function isProgram(path: string): Promise<boolean> {
  try {
    if (!(await stat(path)).isFile()) return false;
    if (process.platform !== "win32") await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
