// Tool names that every model provider accepts: a pure function of the prefix and the server's own name.

import { createHash } from "node:crypto";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

/** The name as it is when it is legal; otherwise a readable part of it and a hash of the whole, so that no two names fall together. */
export function exposedName(tool: string, prefix?: string): string {
  const full = prefix === undefined || prefix === "" ? tool : `${prefix}_${tool}`;
  if (LEGAL.test(full)) return full;
  const hash = createHash("sha256").update(full).digest("hex").slice(0, HASH_LENGTH);
  return `${readable(full).slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** For names that are all known, by each: without a hash, unless two of them would fall together or one is too long. */
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
