// Stored logins: one encrypted file each, so that two processes that refresh different logins do not wait for each other.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Keyring } from "../../secrets/index.ts";
import type { Credential, CredentialKey, CredentialStore } from "./credential.ts";
import { createStoreKey, readStoreKey, type StoreKey } from "./store-key.ts";

export interface FileStore extends CredentialStore {
  /** One line for people: where the logins are, and what protects them. */
  describe(): Promise<string>;
}

interface Stored {
  readonly key: CredentialKey;
  readonly credential: Credential;
}

const SUFFIX = ".login";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_BYTES = 1024 * 1024;
/** Longer than the time limit of a request to a token endpoint. */
const LOCK_WAIT_MS = 60_000;

export function createFileStore(folder: string, keyring: Keyring | undefined): FileStore {
  let known: StoreKey | undefined;

  async function findKey(): Promise<StoreKey | undefined> {
    known ??= await readStoreKey(folder, keyring);
    return known;
  }

  async function read(name: string): Promise<Stored | undefined> {
    const key = await findKey();
    if (key === undefined) return undefined;
    const file = join(folder, name);
    try {
      return open(await readLimited(file, MAX_BYTES), name, key.key);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new PortolanError(
        "SECRET_STORE_FAILED",
        `a stored login cannot be read: ${(error as Error).message}`,
        {
          hint: `Remove ${file}, and log in again.`,
          cause: error,
        },
      );
    }
  }

  async function write(name: string, stored: Stored): Promise<void> {
    let key = await findKey();
    key ??= await withFileLock(join(folder, "key.json"), async () => {
      return (await readStoreKey(folder, keyring)) ?? (await createStoreKey(folder, keyring));
    });
    known = key;
    await removeLeftovers(join(folder, name));
    await writeAtomic(join(folder, name), seal(stored, name, key.key), { mode: 0o600 });
  }

  return {
    read: async (key) => (await read(nameOf(key)))?.credential,
    update: async (key, change) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = nameOf(key);
      const work = async (): Promise<Credential | undefined> => {
        const before = (await read(name))?.credential;
        const credential = await change(before);
        if (credential === before) return credential;
        if (credential === undefined) await rm(join(folder, name), { force: true });
        else await write(name, { key, credential });
        return credential;
      };
      return await withFileLock(join(folder, name), work, { waitMs: LOCK_WAIT_MS });
    },
    list: async () => {
      const names = await readdir(folder).catch(() => []);
      const found = await Promise.all(names.filter((name) => name.endsWith(SUFFIX)).map(read));
      return found.filter((one) => one !== undefined);
    },
    describe: async () => {
      const key = await findKey();
      const isUsable =
        key?.kept === "keyring" || (key === undefined && (await keyring?.check())?.ok === true);
      return isUsable
        ? `Logins are encrypted in ${folder}; their key is in the system's keyring.`
        : `Logins are in ${folder}. There is no keyring, so that only the permissions of these files protect them.`;
    },
  };
}

function nameOf({ server, account, user }: CredentialKey): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, account, user]))
    .digest("hex");
  return `${hash.slice(0, 40)}${SUFFIX}`;
}

/** The name of the file is authenticated, so that one login cannot be put in the place of another one. */
function seal(stored: Stored, name: string, key: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const text = Buffer.concat([cipher.update(JSON.stringify(stored), "utf8"), cipher.final()]);
  return Buffer.concat([nonce, text, cipher.getAuthTag()]);
}

function open(bytes: Uint8Array, name: string, key: Buffer): Stored {
  const sealed = Buffer.from(bytes);
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error("the file is damaged");
  const cipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES));
  cipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const body = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
  const value: unknown = JSON.parse(Buffer.concat([cipher.update(body), cipher.final()]).toString("utf8"));
  if (!isObject(value) || !isObject(value.key) || !isObject(value.credential))
    throw new Error("the file is damaged");
  return value as unknown as Stored;
}
