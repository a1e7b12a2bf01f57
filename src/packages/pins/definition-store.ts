// Approved tool definitions on disk, by their hash, so that a changed definition can be shown as a difference.

import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { pinOf } from "./tool-pin.ts";

const MAX_BYTES = 4 * 1024 * 1024;
const HASH = /^p1-[\w-]{43}$/;

/** A missing or unwritable definition only means that a difference cannot be shown. */
export interface DefinitionStore {
  /** The definition with this hash. A file that was changed is not returned, because its hash differs. */
  load(hash: string): Promise<JsonObject | undefined>;
  /** Stores the definition, unless it has another hash, as one does from which a secret was removed. */
  save(hash: string, definition: JsonObject): Promise<void>;
}

export function createDefinitionStore(folder: string): DefinitionStore {
  const fileOf = (hash: string): string => join(folder, `${hash}.json`);
  const saved = new Set<string>();
  return {
    async load(hash) {
      if (!HASH.test(hash)) return undefined;
      try {
        const value: unknown = JSON.parse((await readLimited(fileOf(hash), MAX_BYTES)).toString("utf8"));
        return isObject(value) && pinOf(value) === hash ? value : undefined;
      } catch {
        return undefined;
      }
    },
    async save(hash, definition) {
      if (saved.has(hash) || !HASH.test(hash) || pinOf(definition) !== hash) return;
      saved.add(hash);
      try {
        const file = fileOf(hash);
        const isThere = await stat(file).then(
          () => true,
          () => false,
        );
        if (isThere) return;
        const bytes = Buffer.from(`${JSON.stringify(definition)}\n`);
        if (bytes.length > MAX_BYTES) return;
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeAtomic(file, bytes, { mode: 0o600 });
      } catch {
        saved.delete(hash);
      }
    },
  };
}

/** The folder in the user's data. */
export async function defaultDefinitionFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "pins");
}
