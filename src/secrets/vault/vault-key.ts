// Key derivation of a vault: scrypt, computed once per process and vault.

import { createHash, randomBytes, scrypt } from "node:crypto";
import type { Secret } from "../secret.ts";

export interface KeyCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

export interface KeyParameters extends KeyCost {
  readonly salt: Uint8Array;
}

/** A derived key. It fits only the vault with exactly these parameters. */
export interface VaultKey {
  readonly parameters: KeyParameters;
  readonly key: Buffer;
}

/** One derivation takes 64 MiB and about half a second. */
export const KEY_COST: KeyCost = { N: 2 ** 16, r: 8, p: 1 };

const MAX_KEPT = 8;
/**
 * Module state: a cache of a pure, slow function, which all stores of the process may share. The values are promises, so that many
 * servers that start at once share one derivation.
 */
const kept = new Map<string, Promise<Buffer>>();

export function newParameters(cost: KeyCost): KeyParameters {
  return { ...cost, salt: randomBytes(16) };
}

export function deriveKey(passphrase: Secret, parameters: KeyParameters): Promise<Buffer> {
  const { N, r, p, salt } = parameters;
  // The passphrase is part of the cache key, so that a wrong passphrase never finds the right key.
  const id = createHash("sha256")
    .update(`${N},${r},${p},${Buffer.from(salt).toString("hex")},${passphrase.reveal()}`)
    .digest("hex");
  const found = kept.get(id);
  if (found !== undefined) return found;
  const made = new Promise<Buffer>((resolve, reject) => {
    const maxmem = 128 * N * r + 128 * r * p + 1024 * 1024;
    scrypt(passphrase.reveal().normalize("NFC"), salt, 32, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
  kept.set(id, made);
  made.catch(() => kept.delete(id));
  const oldest = kept.keys().next();
  if (kept.size > MAX_KEPT && oldest.done !== true) kept.delete(oldest.value);
  return made;
}

export function haveSameParameters(a: KeyParameters, b: KeyParameters): boolean {
  return a.N === b.N && a.r === b.r && a.p === b.p && Buffer.from(a.salt).equals(b.salt);
}
