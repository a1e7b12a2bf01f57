// Whether files of the store are still what was put there: by size and time, and by content where those differ.

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export interface Seal {
  readonly size: number;
  /** Whole seconds: archives and images keep no more. */
  readonly time: number;
  readonly sha256: string;
}

export type Seals = Readonly<Record<string, Seal>>;

/** Those of the files that are there, by their paths in the folder. */
export async function sealFiles(folder: string, paths: readonly string[]): Promise<Seals> {
  const seals = await Promise.all(
    paths.map(async (path) => {
      const seen = await look(join(folder, path));
      return seen === undefined
        ? []
        : [[path, { ...seen, sha256: await hashOf(join(folder, path)) }] as const];
    }),
  );
  return Object.fromEntries(seals.flat());
}

export async function isIntact(path: string, { size, time, sha256 }: Partial<Seal>): Promise<boolean> {
  const seen = await look(path);
  if (seen === undefined || seen.size !== size) return false;
  // A store that was copied has other times, and the same content.
  return seen.time === time || (await hashOf(path).catch(() => undefined)) === sha256;
}

async function look(path: string): Promise<Omit<Seal, "sha256"> | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  return { size: found.size, time: Math.floor(found.mtimeMs / 1_000) };
}

async function hashOf(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}
