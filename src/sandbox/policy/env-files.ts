// Hides the .env files in the folder of a server's script: Portolan infers this folder, and it may be the user's own project.

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
