// Integrity hashes of files: read in the forms that people write, kept in the form of SRI (`sha256-<base64>`).

import { createHash, timingSafeEqual } from "node:crypto";

const HASHES = { sha256: 32, sha384: 48, sha512: 64 } as const;

export type HashName = keyof typeof HASHES;

export interface Integrity {
  readonly algorithm: HashName;
  readonly digest: Buffer;
}

/**
 * Reads `sha256-<base64>` (SRI), `sha256:<hex>` and 64 bare hexadecimal digits. Returns undefined for anything else,
 * also for a digest of the wrong length.
 */
export function parseIntegrity(text: string): Integrity | undefined {
  const bare = /^[0-9a-f]{64}$/i.test(text);
  const [, name = "", separator, written = ""] = bare
    ? ["", "sha256", ":", text]
    : (/^(sha256|sha384|sha512)([-:])([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []);
  if (!Object.hasOwn(HASHES, name)) return undefined;
  const algorithm = name as HashName;
  const length = HASHES[algorithm];
  if (separator === ":" && !new RegExp(`^[0-9a-f]{${length * 2}}$`, "i").test(written)) return undefined;
  const digest = Buffer.from(written, separator === ":" ? "hex" : "base64");
  // Base64 with leftover bits or without its padding decodes too, but two texts for one hash would not compare as equal.
  const isCanonical = separator === ":" || digest.toString("base64") === written;
  return digest.length === length && isCanonical ? { algorithm, digest } : undefined;
}

export function toSri({ algorithm, digest }: Integrity): string {
  return `${algorithm}-${digest.toString("base64")}`;
}

export function integrityOf(bytes: Uint8Array, algorithm: HashName = "sha256"): Integrity {
  return { algorithm, digest: createHash(algorithm).update(bytes).digest() };
}

/** Compares in constant time. Hashes of different algorithms are never equal. */
export function sameIntegrity(a: Integrity, b: Integrity): boolean {
  return a.algorithm === b.algorithm && timingSafeEqual(a.digest, b.digest);
}
