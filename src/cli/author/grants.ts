// Folders that a server is started with, and that its sandbox would not have.

import { statSync } from "node:fs";
import { resolve, sep } from "node:path";

/** Words of its command line that are folders of the workspace or elsewhere; `granted` are absolute. */
export function ungranted(args: readonly string[], folder: string, granted: readonly string[]): string[] {
  return args.filter((word) => {
    if (!/[./\\]/.test(word)) return false;
    const path = resolve(folder, word);
    if (granted.some((grant) => path === grant || path.startsWith(grant + sep))) return false;
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  });
}
