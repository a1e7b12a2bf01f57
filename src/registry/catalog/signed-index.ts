// The signed index: two lines of JSON, the signature and the index. The signature covers the bytes of the second line.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
} from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { parseIndex } from "./parse-index.ts";
import type { RegistryIndex } from "./types.ts";

/** An index of 100 000 packages is smaller. */
export const MAX_INDEX_BYTES = 64 * 1024 * 1024;
const MAX_SIGNATURE_LINE = 1_024;
/** Keeps a signature for an index from being valid for anything else. */
const CONTEXT = Buffer.from("portolan registry index 1\n");

export interface SigningKey {
  /** PKCS #8 in PEM. */
  readonly privateKey: string;
  /** The 32 bytes of an ed25519 key in base64. */
  readonly publicKey: string;
}

export interface VerifiedIndex {
  readonly index: RegistryIndex;
  readonly publicKey: string;
  /** Hash of the whole file, in hexadecimal. */
  readonly sha256: string;
}

export function createSigningKey(): SigningKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { privateKey: pem, publicKey: publicKeyOf(pem) };
}

export function publicKeyOf(privateKeyPem: string): string {
  const { x = "" } = createPublicKey(createPrivateKey(privateKeyPem)).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** A short name of a key that two people can compare. */
export function fingerprintOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex").slice(0, 32);
}

export function signIndex(index: RegistryIndex, key: SigningKey): Buffer {
  const payload = Buffer.from(JSON.stringify(index));
  const signature = sign(null, Buffer.concat([CONTEXT, payload]), createPrivateKey(key.privateKey));
  const head = renderHead(key.publicKey, signature.toString("base64"));
  return Buffer.concat([Buffer.from(`${head}\n`), payload, Buffer.from("\n")]);
}

/** Checks the signature first, and reads the index only then. Throws an error that names `source`. */
export function verifyIndex(bytes: Uint8Array, source: string): VerifiedIndex {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = buffer.subarray(0, MAX_SIGNATURE_LINE).indexOf(10);
  const head = end < 0 ? undefined : parseHead(buffer.subarray(0, end).toString("utf8"));
  const isWhole = buffer.length > 0 && buffer[buffer.length - 1] === 10;
  if (head === undefined || !isWhole || buffer.length > MAX_INDEX_BYTES)
    throw new PortolanError("PROTOCOL_ERROR", `${source} is not the index of a registry`, {
      hint: "Check the URL or path of the registry: it must name the folder that contains index.jsonl. If it does, index.jsonl is damaged or too large.",
    });
  const payload = buffer.subarray(end + 1, buffer.length - 1);
  if (!isSigned(payload, head))
    throw new PortolanError(
      "FORBIDDEN",
      `The signature of ${source} is wrong: the index was changed or damaged.`,
      {
        hint: "Do not install from this registry until its operator has explained the cause.",
      },
    );
  return {
    index: parseIndex(payload, source),
    publicKey: head.key,
    sha256: createHash("sha256").update(buffer).digest("hex"),
  };
}

interface Head {
  readonly key: string;
  readonly signature: Buffer;
}

function parseHead(line: string): Head | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value["algorithm"] !== "ed25519") return undefined;
  const { key, signature } = value;
  if (typeof key !== "string" || typeof signature !== "string") return undefined;
  const bytes = Buffer.from(signature, "base64");
  const isKey = Buffer.from(key, "base64").length === 32 && isCanonical(key) && isCanonical(signature);
  // Exactly one text for each signature: two files with different hashes must not both be valid.
  return isKey && renderHead(key, signature) === line ? { key, signature: bytes } : undefined;
}

function renderHead(key: string, signature: string): string {
  return JSON.stringify({ algorithm: "ed25519", key, signature });
}

function isCanonical(base64: string): boolean {
  return Buffer.from(base64, "base64").toString("base64") === base64;
}

function isSigned(payload: Uint8Array, { key, signature }: Head): boolean {
  try {
    const x = Buffer.from(key, "base64").toString("base64url");
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.concat([CONTEXT, payload]), publicKey, signature);
  } catch {
    return false;
  }
}
