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
  const readable = full.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, MAX_LENGTH - HASH_LENGTH - 1);
  return `${readable}_${hash}`;
}
