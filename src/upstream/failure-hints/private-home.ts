// Finds the paths of the user that a server means when it fails at a path in the private home of its sandbox.

import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PrivatePath } from "../../model/index.ts";
import type { SandboxPolicy } from "../../sandbox/index.ts";

export interface MeantPath {
  readonly path: string;
  /** The folder to grant, for a file among the data of the server. */
  readonly grant?: string;
  /** False for data of the server, which it usually also writes. A file such as `~/.aws/credentials` is usually only read. */
  readonly isForReading?: false;
  readonly inPrivateHome: PrivatePath;
}

/**
 * `/tmp/home/data/a.txt` probably means `~/data/a.txt`. A path of the server's own, such as a missing cache, exists nowhere in the
 * home of the user.
 */
export function meantPaths(
  paths: readonly string[],
  { home, userHome }: Pick<SandboxPolicy, "home" | "userHome">,
): MeantPath[] {
  if (userHome === undefined) return [];
  return paths.flatMap((seen) => {
    if (!seen.startsWith(`${home}/`)) return [];
    const inHome = seen.slice(home.length + 1);
    const path = join(userHome, inHome);
    const folder = dirname(path);
    const isOfUser = existsSync(path) || (folder !== userHome && existsSync(folder));
    if (!isOfUser || !path.startsWith(`${userHome}/`)) return [];
    const inPrivateHome = { seen, home, written: `~/${inHome}` };
    if (inHome.startsWith(".")) return [{ path, inPrivateHome }];
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const grant = isFolder || folder === userHome ? {} : { grant: folder };
    return [{ path, inPrivateHome, isForReading: false, ...grant }];
  });
}
