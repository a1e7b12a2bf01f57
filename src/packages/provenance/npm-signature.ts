// Signatures of an npm registry: ECDSA over `name@version:integrity`, checked against pinned keys and our own hash of the bytes.

import { verify } from "node:crypto";
import { isObject } from "../../model/index.ts";
import type { NpmKey } from "./trust.ts";

export interface NpmSubject {
  readonly name: string;
  readonly version: string;
  /** SHA-512 of the tarball, computed from its bytes. */
  readonly sha512: Buffer;
}

export type NpmSignatureCheck =
  | { readonly state: "none" }
  | { readonly state: "verified"; readonly keyId: string }
  /** Signed with keys that are not trusted, as private registries do. */
  | { readonly state: "unknown-key"; readonly keyId: string }
  | { readonly state: "invalid"; readonly reason: string };

/** More signatures than a registry makes. */
const MAX_SIGNATURES = 20;

/**
 * `signatures` is `dist.signatures` of the version. `publishedAt` is compared with the validity of the key; without it, now is.
 * It never throws.
 */
export function checkNpmSignatures(
  signatures: unknown,
  { name, version, sha512 }: NpmSubject,
  { keys, publishedAt }: { readonly keys: readonly NpmKey[]; readonly publishedAt: Date },
): NpmSignatureCheck {
  if (signatures === undefined || signatures === null) return { state: "none" };
  if (!Array.isArray(signatures) || signatures.length > MAX_SIGNATURES)
    return { state: "invalid", reason: "the registry's signatures are not a list of signatures" };
  // The hash of our own bytes: a signature of other bytes does not verify, whatever the registry says about the hash.
  const message = Buffer.from(`${name}@${version}:sha512-${sha512.toString("base64")}`);
  let verified: string | undefined;
  let unknown: string | undefined;
  for (const one of signatures as unknown[]) {
    if (
      !isObject(one) ||
      typeof one.keyid !== "string" ||
      typeof one.sig !== "string" ||
      one.sig.length > 1_000
    )
      return { state: "invalid", reason: "a signature of the registry has no keyid or no sig" };
    const { keyid, sig } = one;
    const key = keys.find(({ id, usage }) => id === keyid && usage === "npm:signatures");
    if (key === undefined) {
      unknown ??= keyid.slice(0, 100);
      continue;
    }
    const problem = keyProblem(key, publishedAt);
    if (problem !== undefined) return { state: "invalid", reason: problem };
    if (!isSignedBy(key, message, Buffer.from(sig, "base64")))
      return {
        state: "invalid",
        reason: `the registry's signature with the key ${keyid} does not match the package`,
      };
    verified = keyid;
  }
  if (verified !== undefined) return { state: "verified", keyId: verified };
  return unknown === undefined ? { state: "none" } : { state: "unknown-key", keyId: unknown };
}

function keyProblem({ id, validFrom, validTo }: NpmKey, at: Date): string | undefined {
  const published = Number.isNaN(at.getTime()) ? "an unknown date" : at.toISOString();
  const isValid = (validFrom === undefined || at >= validFrom) && (validTo === undefined || at < validTo);
  return isValid
    ? undefined
    : `the registry's key ${id} was not valid on ${published}, when the package was published`;
}

function isSignedBy({ publicKey }: NpmKey, message: Buffer, signature: Buffer): boolean {
  try {
    return verify("sha256", message, publicKey, signature);
  } catch {
    return false;
  }
}
