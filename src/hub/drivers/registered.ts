// Registrations of a workspace in the user's data folder: one file for each workspace and kind.

import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withFileLock } from "../../base/files/file-lock.ts";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { isObject } from "../../model/index.ts";

const MAX_BYTES = 16 * 1024 * 1024;

export interface Kind<T> {
  /** The field of the file. */
  readonly name: string;
  readonly ending: string;
  readonly keyOf: (thing: T) => string;
  /** Checks the fields that a comparison reads. */
  readonly isIt: (value: unknown) => value is T;
}

/** A file that cannot be read counts as empty: then one breaking change is not noticed. */
export async function registered<T>(kind: Kind<T>, root: string): Promise<Map<string, T>> {
  return read(kind, await fileOf(kind, root));
}

/** Replaces the entries with the same keys. */
export async function remember<T>(kind: Kind<T>, root: string, things: readonly T[]): Promise<void> {
  const file = await fileOf(kind, root);
  const known = await read(kind, file);
  const changed = things.filter(
    (thing) => JSON.stringify(known.get(kind.keyOf(thing))) !== JSON.stringify(thing),
  );
  if (changed.length === 0) return;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await withFileLock(file, async () => {
    const all = new Map([
      ...(await read(kind, file)),
      ...changed.map((thing) => [kind.keyOf(thing), thing] as const),
    ]);
    const whole = { version: 1, root, [kind.name]: Object.fromEntries(all) };
    const bytes = Buffer.from(`${JSON.stringify(whole)}\n`);
    if (bytes.length <= MAX_BYTES) await writeAtomic(file, bytes, { mode: 0o600 });
  });
}

async function fileOf({ ending }: Pick<Kind<unknown>, "ending">, root: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(envPaths("portolan", { suffix: "" }).data, "drivers", `${name}${ending}`);
}

async function read<T>({ name, isIt }: Kind<T>, file: string): Promise<Map<string, T>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    const things: unknown = isObject(value) && value.version === 1 ? value[name] : undefined;
    const entries = Object.entries(isObject(things) ? things : {});
    return new Map(entries.flatMap(([key, thing]) => (isIt(thing) ? [[key, thing] as const] : [])));
  } catch {
    return new Map();
  }
}
