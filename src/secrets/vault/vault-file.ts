// File format of a vault: a readable header line, nonce, ciphertext and tag (AES-256-GCM), and a checksum of everything.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { isObject } from "../../model/index.ts";
import type { KeyParameters } from "./vault-key.ts";

/** `damaged` means that the bytes have changed. `locked` means that this key does not decrypt them. */
export type Opened =
  | { readonly ok: true; readonly secrets: Map<string, string> }
  | { readonly ok: false; readonly reason: "damaged" | "newer" | "locked"; readonly detail: string };

export type Header =
  | { readonly ok: true; readonly key: KeyParameters; readonly length: number }
  | { readonly ok: false; readonly reason: "damaged" | "newer"; readonly detail: string };

const VERSION = 1;
const NONCE = 12;
const TAG = 16;
const CHECKSUM = 32;
const MAX_HEADER = 1_024;
/** Limit on the memory of the key derivation, which is 128 * N * r bytes. A hostile file could request more. */
const MAX_KDF_MEMORY = 512 * 1024 * 1024;

/** The header is the additional authenticated data of the cipher, so it cannot be changed. */
export function sealVault(
  secrets: ReadonlyMap<string, string>,
  parameters: KeyParameters,
  key: Uint8Array,
): Buffer {
  const header = Buffer.from(
    `${JSON.stringify({
      portolanVault: VERSION,
      cipher: "aes-256-gcm",
      kdf: "scrypt",
      N: parameters.N,
      r: parameters.r,
      p: parameters.p,
      salt: Buffer.from(parameters.salt).toString("base64"),
    })}\n`,
  );
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(header);
  const text = JSON.stringify(Object.fromEntries([...secrets].sort(([a], [b]) => (a < b ? -1 : 1))));
  const sealed = Buffer.concat([
    header,
    nonce,
    cipher.update(text, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return Buffer.concat([sealed, checksum(sealed)]);
}

/** Returns the parameters of the key. This needs no key, so that a damaged file is detected before the passphrase is requested. */
export function readHeader(bytes: Buffer): Header {
  const end = bytes.subarray(0, MAX_HEADER).indexOf(0x0a);
  const length = end + 1;
  if (end === -1 || bytes.length < length + NONCE + TAG + CHECKSUM)
    return { ok: false, reason: "damaged", detail: `its ${bytes.length} bytes are not a complete vault` };
  const body = bytes.subarray(0, bytes.length - CHECKSUM);
  if (!checksum(body).equals(bytes.subarray(bytes.length - CHECKSUM)))
    return { ok: false, reason: "damaged", detail: "its checksum does not match" };
  const header = parseJson(bytes.subarray(0, end).toString("utf8"));
  const version = isObject(header) ? header["portolanVault"] : undefined;
  // Later versions will keep the header line and the checksum.
  if (isCount(version) && version > VERSION)
    return {
      ok: false,
      reason: "newer",
      detail: `it has format version ${version}, and this portolan supports ${VERSION}`,
    };
  const key = version === VERSION && isObject(header) ? toParameters(header) : undefined;
  if (key === undefined)
    return { ok: false, reason: "damaged", detail: "its header is not the header of a vault" };
  return { ok: true, key, length };
}

export function openVault(bytes: Buffer, length: number, key: Uint8Array): Opened {
  const end = bytes.length - CHECKSUM;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(length, length + NONCE), {
      authTagLength: TAG,
    });
    decipher.setAAD(bytes.subarray(0, length));
    decipher.setAuthTag(bytes.subarray(end - TAG, end));
    const text = Buffer.concat([
      decipher.update(bytes.subarray(length + NONCE, end - TAG)),
      decipher.final(),
    ]);
    const parsed = parseJson(text.toString("utf8"));
    if (isObject(parsed) && Object.values(parsed).every((value) => typeof value === "string"))
      return { ok: true, secrets: new Map(Object.entries(parsed as Record<string, string>)) };
    return { ok: false, reason: "damaged", detail: "it contains no map of secrets" };
  } catch {
    return { ok: false, reason: "locked", detail: "the passphrase does not open it" };
  }
}

function toParameters(header: Readonly<Record<string, unknown>>): KeyParameters | undefined {
  const { cipher, kdf, N, r, p, salt } = header;
  if (cipher !== "aes-256-gcm" || kdf !== "scrypt" || typeof salt !== "string") return undefined;
  if (!isCount(N) || !isCount(r) || !isCount(p) || p > 16 || 128 * N * r > MAX_KDF_MEMORY) return undefined;
  if (N < 2 || (N & (N - 1)) !== 0) return undefined;
  const bytes = Buffer.from(salt, "base64");
  return bytes.length === 16 ? { N, r, p, salt: bytes } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= 2 ** 30;
}

function checksum(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
