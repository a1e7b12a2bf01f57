// The key that encrypts the stored logins: in the system's keyring, or in a file where there is no keyring.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Keyring } from "../../secrets/index.ts";

/** Says where the key is: `{"kept":"keyring"}`, or `{"kept":"file","key":"…"}`. */
const KEY_FILE = "key.json";
const SERVICE = "portolan-logins";
const KEY_BYTES = 32;
const MAX_BYTES = 4 * 1024;

export interface StoreKey {
  readonly key: Buffer;
  readonly kept: "keyring" | "file";
}

/** Undefined if there is no key yet, so that nothing is stored. */
export async function readStoreKey(
  folder: string,
  keyring: Keyring | undefined,
): Promise<StoreKey | undefined> {
  const file = join(folder, KEY_FILE);
  const bytes = await readLimited(file, MAX_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw keyError(
      `the key of the stored logins cannot be read: ${error.message}`,
      `Check the file ${file}.`,
      error,
    );
  });
  if (bytes === undefined) return undefined;
  const json = parseJson(bytes);
  if (isObject(json) && json.kept === "file" && typeof json.key === "string")
    return { kept: "file", key: checkKey(json.key, file, folder) };
  if (!isObject(json) || json.kept !== "keyring")
    throw keyError(
      `the key of the stored logins, ${file}, is damaged`,
      `Remove the folder ${folder}, and log in again.`,
    );
  const value = await keyring?.get(SERVICE, folder);
  if (value !== undefined) return { kept: "keyring", key: checkKey(value, "the keyring", folder) };
  throw keyError(
    "the key of the stored logins is in the system's keyring, and Portolan cannot read it there",
    `Unlock the keyring. Or remove ${folder}, and log in again: if there is no keyring, the new key is stored in a file.`,
  );
}

/** The caller holds the lock of the folder. */
export async function createStoreKey(folder: string, keyring: Keyring | undefined): Promise<StoreKey> {
  const key = randomBytes(KEY_BYTES);
  const text = key.toString("base64");
  const isUsable = keyring !== undefined && (await keyring.check()).ok;
  if (isUsable) await keyring.set(SERVICE, folder, text);
  const kept = isUsable ? "keyring" : "file";
  const content = JSON.stringify(isUsable ? { kept } : { kept, key: text });
  await writeAtomic(join(folder, KEY_FILE), Buffer.from(`${content}\n`), { mode: 0o600 });
  return { key, kept };
}

function checkKey(text: string, where: string, folder: string): Buffer {
  const key = Buffer.from(text, "base64");
  if (key.length === KEY_BYTES) return key;
  throw keyError(
    `the key of the stored logins in ${where} is damaged`,
    `Remove the folder ${folder}, and log in again.`,
  );
}

function keyError(message: string, hint: string, cause?: unknown): PortolanError {
  return new PortolanError("SECRET_STORE_FAILED", message, { hint, cause });
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
}
