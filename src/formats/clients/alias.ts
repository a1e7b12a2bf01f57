// Names of servers as clients allow them, made legal for Portolan: letters, digits, _ and -.

import { createHash } from "node:crypto";

const LEGAL = /^[A-Za-z0-9_-]+$/;

export function isLegalAlias(name: string): boolean {
  return LEGAL.test(name);
}

/** The name itself when it is legal, else its readable part; a name without any gets a hash. */
export function toAlias(name: string): string {
  if (isLegalAlias(name)) return name;
  const readable = name.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");
  return readable === "" ? `server_${hash(name)}` : readable;
}

/**
 * One alias per name, all different: legal names keep theirs wherever they stand, a name whose alias is taken gets a hash of itself.
 * The answer does not depend on the order of the names that need no change.
 */
export function assignAliases(names: readonly string[]): string[] {
  const taken = new Set(names.filter(isLegalAlias));
  return names.map((name) => {
    if (isLegalAlias(name)) return name;
    const plain = toAlias(name);
    const alias = taken.has(plain) ? `${plain}_${hash(name)}` : plain;
    taken.add(alias);
    return alias;
  });
}

function hash(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 8);
}
