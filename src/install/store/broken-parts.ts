// Finds parts of a store entry that are missing or changed. It is cheap enough to run before each start.

import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../model/index.ts";
import { type Lock, readLock } from "../npm/lock.ts";
import { isIntact, type Seal } from "./seals.ts";

/** npm's list of what it installed. */
export const PUT_THERE = "node_modules/.package-lock.json";
const AGREED = "package-lock.json";

/** Human-readable; empty if the entry is intact. Does not read the files of dependencies. */
export async function brokenParts(folder: string, seals: unknown): Promise<string[]> {
  const sealed = isObject(seals) ? Object.entries(seals) : [];
  const files = await Promise.all(
    sealed.map(async ([path, seal]) => {
      if (await isIntact(join(folder, path), seal as Partial<Seal>)) return [];
      const isThere = await access(join(folder, path)).then(
        () => true,
        () => false,
      );
      return [`${path} ${isThere ? "was changed" : "is missing"}`];
    }),
  );
  const isPackage = sealed.some(([path]) => path === AGREED);
  return [...new Set([...files.flat(), ...(await missingParts(folder, isPackage))])];
}

/** Checks the folders of packages only. */
export function missingPlaces(folder: string, lock: Lock): string[] {
  // Synchronous: hundreds of calls take microseconds each, asynchronous ones a tenth of a millisecond.
  return [...lock.keys()].filter((place) => !existsSync(join(folder, place)));
}

async function missingParts(folder: string, isPackage: boolean): Promise<string[]> {
  const lock = await readLock(join(folder, PUT_THERE)).catch(() => undefined);
  // A download has no such list.
  if (lock === undefined) return isPackage ? [`${PUT_THERE} is missing`] : [];
  return missingPlaces(folder, lock).map((place) => `${place} is missing`);
}
