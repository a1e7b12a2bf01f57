// Hides files with secrets in the folders that Portolan infers for a server, which may be the user's own project: .env
// files beside the server's script, and the files that the config names as secrets.

import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "../paths/paths.ts";
import type { Mount } from "../types.ts";

/** `.env` and `.env.local`, but no template without secrets. */
const ENV_FILE = /^\.env(?:\.(?!example$).+)?$/;

/** `.env` files directly in these folders, as they are at the start, without those that `declared` mounts grant. */
export async function envFileCovers(
  folders: readonly string[],
  declared: readonly Mount[],
): Promise<readonly Mount[]> {
  const found = await Promise.all(folders.map(envFilesIn));
  return [...new Set(found.flat())]
    .filter((path) => !declared.some((grant) => isInside(path, grant.path)))
    .map((path) => ({ path, access: "hidden", reason: "env file" }));
}

/** Of the files that the config names as secrets, those in a folder that the policy grants and no `declared` mount grants. */
export async function secretFileCovers(
  files: readonly string[],
  grants: readonly Mount[],
  declared: readonly Mount[],
): Promise<readonly Mount[]> {
  const real = await Promise.all(files.map((path) => realpath(path).catch(() => undefined)));
  const isIn = (path: string, mounts: readonly Mount[]): boolean =>
    mounts.some((mount) => isInside(path, mount.path));
  return [...new Set(real)]
    .filter((path) => path !== undefined && isIn(path, grants) && !isIn(path, declared))
    .map((path) => ({ path: path as string, access: "hidden", reason: "secret file" }));
}

async function envFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => ENV_FILE.test(name)).map((name) => join(folder, name));
  const files = await Promise.all(
    paths.map(async (path) =>
      (await stat(path).catch(() => undefined))?.isFile() === true ? [await realpath(path)] : [],
    ),
  );
  return files.flat();
}
