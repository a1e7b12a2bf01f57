// Stored logins and registered clients: one encrypted file each, so that two processes that refresh different logins do not wait for each other.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Keyring } from "../../secrets/index.ts";
import type { OAuthClient } from "../client/oauth-client.ts";
import type { Credential, CredentialKey, CredentialStore } from "./credential.ts";
import { createStoreKey, readStoreKey, type StoreKey } from "./store-key.ts";

export interface FileStore extends Required<CredentialStore> {
  /** One line for people: where the logins are, and what protects them. */
  describe(): Promise<string>;
}

interface StoredLogin {
  readonly key: CredentialKey;
  readonly credential: Credential;
}

interface StoredClient {
  readonly name: string;
  readonly client: OAuthClient;
}

const LOGIN = ".login";
const CLIENT = ".client";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_BYTES = 1024 * 1024;
/** Longer than the time limit of a request to a token endpoint. */
const LOCK_WAIT_MS = 60_000;

export function createFileStore(folder: string, keyring: Keyring | undefined): FileStore {
  let known: StoreKey | undefined;
  const names = new WeakMap<CredentialKey, string>();

  async function findKey(): Promise<StoreKey | undefined> {
    known ??= await readStoreKey(folder, keyring);
    return known;
  }

  async function read<T>(name: string): Promise<T | undefined> {
    const key = await findKey();
    if (key === undefined) return undefined;
    const file = join(folder, name);
    try {
      return open(await readLimited(file, MAX_BYTES), name, key.key) as T;
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

  async function write(name: string, stored: StoredLogin | StoredClient): Promise<void> {
    let key = await findKey();
    key ??= await withFileLock(join(folder, "key.json"), async () => {
      return (await readStoreKey(folder, keyring)) ?? (await createStoreKey(folder, keyring));
    });
    known = key;
    await removeLeftovers(join(folder, name));
    await writeAtomic(join(folder, name), seal(stored, name, key.key), { mode: 0o600 });
  }

  /** Changes one file under its lock. `toStored` makes the content of a value. */
  async function change<T extends object>(
    name: string,
    valueOf: (content: never) => T,
    toStored: (value: T) => StoredLogin | StoredClient,
    changed: (current: T | undefined) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const work = async (): Promise<T | undefined> => {
      const content = await read<never>(name);
      const before = content && valueOf(content);
      const value = await changed(before);
      if (value === before) return value;
      if (value === undefined) await rm(join(folder, name), { force: true });
      else await write(name, toStored(value));
      return value;
    };
    return await withFileLock(join(folder, name), work, { waitMs: LOCK_WAIT_MS });
  }

  return {
    read: async (key) => (await read<StoredLogin>(loginName(key)))?.credential,
    update: (key, changed) =>
      change(
        loginName(key),
        ({ credential }: StoredLogin) => credential,
        (credential) => ({ key, credential }),
        changed,
      ),
    list: async () => {
      const files = await readdir(folder).catch(() => []);
      const logins = files.filter((name) => name.endsWith(LOGIN));
      const found = await Promise.all(logins.map((name) => read<StoredLogin>(name)));
      return found.filter((one) => one !== undefined);
    },
    version: (key) => {
      let name = names.get(key);
      if (name === undefined) names.set(key, (name = loginName(key)));
      // Every write makes a new file. The call is synchronous, because the usual request must not wait for anything.
      const { ino, mtimeMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
      return `${ino} ${mtimeMs}`;
    },
    updateClient: (name, changed) =>
      change(
        `${hashOf(name)}${CLIENT}`,
        ({ client }: StoredClient) => client,
        (client) => ({ name, client }),
        changed,
      ),
    describe: async () => {
      const key = await findKey();
      const isUsable =
        key?.kept === "keyring" || (key === undefined && (await keyring?.check())?.ok === true);
      return isUsable
        ? `Logins are encrypted in ${folder}; their key is in the system's keyring.`
        : `Logins are encrypted in ${folder}. Their key is in a file of the same folder, so only the permissions of these files protect them.`;
    },
  };
}

function loginName({ server, account, user }: CredentialKey): string {
  return `${hashOf(JSON.stringify([server, account, user]))}${LOGIN}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 40);
}

/** The name of the file is authenticated, so that one login cannot be put in the place of another one. */
function seal(stored: StoredLogin | StoredClient, name: string, key: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const text = Buffer.concat([cipher.update(JSON.stringify(stored), "utf8"), cipher.final()]);
  return Buffer.concat([nonce, text, cipher.getAuthTag()]);
}

function open(bytes: Uint8Array, name: string, key: Buffer): object {
  const sealed = Buffer.from(bytes);
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error("the file is damaged");
  const cipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES));
  cipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const body = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
  const value: unknown = JSON.parse(Buffer.concat([cipher.update(body), cipher.final()]).toString("utf8"));
  const isLogin = isObject(value) && isObject(value.key) && isObject(value.credential);
  const isClient = isObject(value) && isObject(value.client);
  if (name.endsWith(CLIENT) ? !isClient : !isLogin) throw new Error("the file is damaged");
  return value as object;
}
