// The clients' files that exist on this computer.

import { access, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { type PlatformPath, posix, win32 } from "node:path";
import { CLIENTS, type Computer } from "./clients.ts";
import { samePath } from "./context.ts";
import type { ClientId, Scope } from "../types.ts";

export interface FoundClientFile {
  readonly client: ClientId;
  readonly file: string;
  readonly scope: Scope;
}

/** Further up than this no project is looked for. */
const MAX_PARENTS = 32;

/**
 * The usual places that exist: of a project those in `cwd` and in its parents up to the root of the repository, nearest first;
 * then those of the user. Order and answer depend only on the files.
 */
export async function findClientFiles(computer: Partial<Computer> = {}): Promise<FoundClientFile[]> {
  const here: Computer = {
    home: homedir(),
    cwd: process.cwd(),
    platform: process.platform,
    env: process.env,
    ...computer,
  };
  const path = here.platform === "win32" ? win32 : posix;
  const folders = await projectFolders(here, path);
  const found: FoundClientFile[] = [];
  const seen = new Set<string>();
  for (const client of Object.values(CLIENTS)) {
    const places = [
      ...client.places(here).filter(({ scope }) => scope === "user"),
      ...folders.flatMap((cwd) => client.places({ ...here, cwd }).filter(({ scope }) => scope === "project")),
    ];
    const files = await Promise.all(
      places.map(async ({ file, scope }) =>
        (await expand(file, path)).map((name) => ({ file: name, scope })),
      ),
    );
    // A file of the user that also looks like one of a project (in the home folder) is the user's.
    const fresh = files.flat().filter(({ file }) => !seen.has(file) && seen.add(file) !== undefined);
    const isProject = ({ scope }: { scope: Scope }): boolean => scope === "project";
    for (const { file, scope } of [...fresh.filter(isProject), ...fresh.filter((one) => !isProject(one))])
      found.push({ client: client.id, file, scope });
  }
  return found;
}

/** `cwd` alone outside of a repository; never the home folder or above unless the user stands there. */
async function projectFolders({ cwd, home }: Computer, path: PlatformPath): Promise<string[]> {
  const folders: string[] = [];
  let folder = cwd;
  for (let depth = 0; depth < MAX_PARENTS; depth += 1) {
    if (depth > 0 && samePath(folder, home, path)) break;
    folders.push(folder);
    if (await exists(path.join(folder, ".git"))) return folders;
    const parent = path.dirname(folder);
    if (parent === folder) break;
    folder = parent;
  }
  return [cwd];
}

/** The existing files that a place stands for. */
async function expand(place: string, path: PlatformPath): Promise<string[]> {
  const star = place.indexOf("*");
  if (star === -1) return (await exists(place)) ? [place] : [];
  const start = place.lastIndexOf(path.sep, star);
  const end = place.indexOf(path.sep, star);
  const folder = place.slice(0, start);
  const [prefix = "", suffix = ""] = place.slice(start + 1, end === -1 ? undefined : end).split("*");
  const names = await readdir(folder).catch(() => []);
  const matches = names.filter(
    (name) =>
      name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix),
  );
  const rest = end === -1 ? "" : place.slice(end);
  const files = await Promise.all(
    matches.sort().map((name) => expand(folder + path.sep + name + rest, path)),
  );
  return files.flat();
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
