// Tool names that every model provider accepts: computed from the prefix and the name that the server gave.

import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns a legal name unchanged. Other names become their readable part and a hash of the whole name, so that no two collide. */
export function exposedName(tool: string, prefix?: string): string {
  const full = prefix === undefined || prefix === "" ? tool : `${prefix}_${tool}`;
  if (LEGAL.test(full)) return full;
  const hash = createHash("sha256").update(full).digest("hex").slice(0, HASH_LENGTH);
  return `${readable(full).slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** Maps a complete set of names to legal names. A hash is added only when two would collide or one is too long. */
export function exposedNames(names: Iterable<string>): ReadonlyMap<string, string> {
  const all = new Set(names);
  const wanted = new Map<string, number>();
  for (const name of all) wanted.set(readable(name), (wanted.get(readable(name)) ?? 0) + 1);
  return new Map(
    Array.from(all, (name) => {
      const plain = readable(name);
      return [name, LEGAL.test(plain) && wanted.get(plain) === 1 ? plain : exposedName(name)];
    }),
  );
}

function readable(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, "_");
}
