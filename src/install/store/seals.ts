// Detects changed files of the store by size and time, and by content if the time differs.

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export interface Seal {
  readonly size: number;
  /** Whole seconds, because archives and images store no more. */
  readonly time: number;
  readonly sha256: string;
}

export type Seals = Readonly<Record<string, Seal>>;

/** Seals of the files that exist, by their paths in the folder. */
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
  // A copied store has other times and the same content.
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
