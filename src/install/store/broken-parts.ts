// Finds parts of a store entry that are missing or changed. It is cheap enough to run before each start.

import { existsSync } from "node:fs";
import { access, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../model/index.ts";
import { readLock, type Lock } from "../npm/lock.ts";
import { createHash } from "node:crypto";
import { describeFault, type FileFault } from "./file-fault.ts";

/** npm's list of what it installed. */
export const PUT_THERE = "node_modules/.package-lock.json";
const AGREED = "package-lock.json";

/** Human-readable; empty if the entry is intact. Does not read the files of dependencies. */
export async function brokenParts(folder: string, seals: unknown): Promise<string[]> {
  return (await findFaults(folder, seals)).map(describeFault);
}

/** The faults that the seals and the list of npm show. */
export async function findFaults(folder: string, seals: unknown): Promise<FileFault[]> {
  const sealed = isObject(seals) ? Object.entries(seals) : [];
  const files = await Promise.all(
    sealed.map(async ([path, seal]): Promise<FileFault[]> => {
      if (await isIntact(join(folder, path), seal as Partial<Seal>)) return [];
      const isThere = await access(join(folder, path)).then(
        () => true,
        () => false,
      );
      return [{ path, state: isThere ? "changed" : "missing" }];
    }),
  );
  const isPackage = sealed.some(([path]) => path === AGREED);
  const missing = await missingParts(folder, isPackage);
  const known = new Set(files.flat().map(({ path }) => path));
  return [
    ...files.flat(),
    ...missing.filter((path) => !known.has(path)).map((path) => ({ path, state: "missing" }) as const),
  ];
}

/** Checks the folders of packages only. */
export function missingPlaces(folder: string, lock: Lock): string[] {
  // Synchronous: hundreds of calls take microseconds each, asynchronous ones a tenth of a millisecond.
  return [...lock.keys()].filter((place) => !existsSync(join(folder, place)));
}

async function missingParts(folder: string, isPackage: boolean): Promise<string[]> {
  const lock = await readLock(join(folder, PUT_THERE)).catch(() => undefined);
  // A download has no such list.
  if (lock === undefined) return isPackage ? [PUT_THERE] : [];
  return missingPlaces(folder, lock);
}

/** A file as it was installed. A change is detected by size and time, and by content if the time differs. */
interface Seal {
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
      const seen = await statOf(join(folder, path));
      return seen === undefined
        ? []
        : [[path, { ...seen, sha256: await hashOf(join(folder, path)) }] as const];
    }),
  );
  return Object.fromEntries(seals.flat());
}

async function isIntact(path: string, { size, time, sha256 }: Partial<Seal>): Promise<boolean> {
  const seen = await statOf(path);
  if (seen === undefined || seen.size !== size) return false;
  // A copied store has other times and the same content.
  return seen.time === time || (await hashOf(path).catch(() => undefined)) === sha256;
}

async function statOf(path: string): Promise<Omit<Seal, "sha256"> | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  return { size: found.size, time: Math.floor(found.mtimeMs / 1_000) };
}

async function hashOf(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}
