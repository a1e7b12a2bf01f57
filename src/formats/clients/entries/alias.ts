// Names of servers as clients allow them, made legal for Portolan.

import { createHash } from "node:crypto";
import { ALIAS_PATTERN, MAX_ALIAS } from "../../manifest/alias.ts";

const LEGAL = new RegExp(ALIAS_PATTERN);
const HASH_LENGTH = 8;

export function isLegalAlias(name: string): boolean {
  return LEGAL.test(name);
}

/** The name itself when it is legal, else its readable part; one that is too long, or has no such part, gets a hash of the whole. */
export function toAlias(name: string): string {
  if (isLegalAlias(name)) return name;
  const readable = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "");
  if (readable !== "" && readable.length <= MAX_ALIAS) return readable;
  return withHash(readable === "" ? "server" : readable, name);
}

/**
 * One alias per name, all different: legal names keep theirs wherever they stand, a name whose alias is taken gets a hash of itself.
 * The same name twice gets the same alias twice.
 */
export function assignAliases(names: readonly string[]): string[] {
  const owners = new Map(names.filter(isLegalAlias).map((name) => [name, name]));
  return names.map((name) => {
    const plain = toAlias(name);
    const alias = (owners.get(plain) ?? name) === name ? plain : withHash(plain, name);
    owners.set(alias, name);
    return alias;
  });
}

function withHash(readable: string, name: string): string {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_LENGTH);
  return `${readable.slice(0, MAX_ALIAS - HASH_LENGTH - 1)}_${hash}`;
}
