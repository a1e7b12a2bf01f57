// The index file of a registry: read when it changed, changed under the lock between processes, and signed with each change.

import { randomUUID } from "node:crypto";
import { chmod, link, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { removeLeftovers, writeAtomic, type WriteOptions } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  createSigningKey,
  MAX_INDEX_BYTES,
  publicKeyOf,
  signIndex,
  type SigningKey,
  verifyIndex,
} from "../catalog/signed-index.ts";
import type { RegistryIndex } from "../catalog/types.ts";
import type { Layout } from "./layout.ts";

export interface IndexState {
  readonly index: RegistryIndex;
  /** The signed file, as clients get it. */
  readonly bytes: Buffer;
  readonly sha256: string;
}

export interface IndexFile {
  readonly publicKey: string;
  read(): Promise<IndexState>;
  /** `change` gets the present index, and returns undefined to leave it. No other process changes it meanwhile. */
  update(change: (index: RegistryIndex) => Promise<IndexContent | undefined>): Promise<IndexState>;
}

export type IndexContent = Pick<RegistryIndex, "packages" | "advisories">;

export interface IndexFileOptions {
  readonly now: () => Date;
  /** How long a signature is valid. */
  readonly validForMs: number;
  readonly writeBytes?: WriteOptions["writeBytes"];
}

export async function openIndexFile(layout: Layout, options: IndexFileOptions): Promise<IndexFile> {
  const key = await openKey(layout);
  let known: { readonly state: IndexState; readonly mark: string } | undefined;

  const markOf = async (): Promise<string | undefined> => {
    const found = await stat(layout.index, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    return found && `${found.ino}-${found.size}-${found.mtimeNs}`;
  };

  /** Reading the mark first: if the file changes in between, the next read notices it. */
  const readFile = async (): Promise<IndexState | undefined> => {
    const mark = await markOf();
    if (mark === undefined) return undefined;
    if (known?.mark === mark) return known.state;
    const bytes = await readLimited(layout.index, MAX_INDEX_BYTES);
    const { index, publicKey, sha256 } = verifyIndex(bytes, layout.index);
    if (publicKey !== key.publicKey)
      throw new PortolanError(
        "FILE_FAILED",
        `${layout.index} was signed with another key than ${layout.key}`,
        {
          hint: "Restore both files from the same backup.",
        },
      );
    const state = { index, bytes, sha256 };
    known = { state, mark };
    return state;
  };

  const write = async (content: IndexContent, before: number): Promise<IndexState> => {
    const now = options.now();
    const index: RegistryIndex = {
      format: 1,
      // Seconds as the least value: after a restored backup, new indexes are still newer than all that clients have seen.
      sequence: Math.max(before + 1, Math.floor(now.getTime() / 1_000)),
      issuedAt: now.toISOString(),
      expiresAt: new Date(now.getTime() + options.validForMs).toISOString(),
      packages: content.packages,
      advisories: content.advisories,
    };
    const bytes = signIndex(index, key);
    if (bytes.length > MAX_INDEX_BYTES)
      throw new PortolanError(
        "MESSAGE_TOO_LARGE",
        `The index of the registry would be larger than ${MAX_INDEX_BYTES / 2 ** 20} MiB, which is the maximum.`,
        {
          hint: "Use another registry for new packages. The operator can start one: portolan registry serve <folder>.",
          data: { status: 507 },
        },
      );
    await writeAtomic(layout.index, bytes, { mode: 0o644, writeBytes: options.writeBytes });
    known = undefined;
    const written = await readFile();
    if (written === undefined)
      throw new PortolanError("FILE_FAILED", `${layout.index} was deleted while the registry used it.`, {
        hint: RESTORE,
      });
    return written;
  };

  const update: IndexFile["update"] = (change) =>
    withFileLock(layout.index, async () => {
      await removeLeftovers(layout.index);
      const before = await readFile();
      if (before === undefined) await refuseLostIndex(layout);
      const index = before?.index ?? EMPTY;
      const content = await change(index);
      return content === undefined && before !== undefined ? before : write(content ?? index, index.sequence);
    });

  await update(async (index) => (isOld(index, options) ? index : undefined));
  return {
    publicKey: key.publicKey,
    update,
    read: async () => {
      const state = await readFile();
      if (state === undefined) return update(async () => undefined);
      // A quarter of the validity has passed: a client that reads now may keep the index for a while.
      return isOld(state.index, options)
        ? update(async (now) => (isOld(now, options) ? now : undefined))
        : state;
    },
  };
}

const RESTORE = "Stop the registry, restore this file from a backup, and start the registry again.";

/** An empty index in place of a lost one would make the registry remove the files of all packages. */
async function refuseLostIndex({ index, versions }: Layout): Promise<void> {
  const left = await readdir(versions).catch(() => []);
  if (left.length > 0)
    throw new PortolanError("FILE_FAILED", `${index} is missing, but ${versions} contains packages.`, {
      hint: RESTORE,
    });
}

const EMPTY: RegistryIndex = {
  format: 1,
  sequence: 0,
  issuedAt: "",
  expiresAt: "",
  packages: {},
  advisories: [],
};

function isOld({ issuedAt, expiresAt }: RegistryIndex, { now, validForMs }: IndexFileOptions): boolean {
  const time = now().getTime();
  // A longer validity that somebody signed for a static copy stays.
  const span = Math.max(validForMs, Date.parse(expiresAt) - Date.parse(issuedAt) || 0);
  return issuedAt === "" || time - Date.parse(issuedAt) > span / 4;
}

/** Creates the key with the first start. Two processes that start at once use the same key. */
async function openKey({ key: file, index }: Layout): Promise<SigningKey> {
  const read = async (): Promise<SigningKey | undefined> => {
    try {
      const privateKey = (await readLimited(file, 10_000)).toString("utf8");
      return { privateKey, publicKey: publicKeyOf(privateKey) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new PortolanError("FILE_FAILED", `${file} cannot be used: ${(error as Error).message}`, {
        hint: "Restore the registry's key from a backup: clients accept no other key.",
        cause: error,
      });
    }
  };
  const found = await read();
  if (found !== undefined) return found;
  if ((await stat(index).catch(() => undefined)) !== undefined)
    throw new PortolanError("FILE_FAILED", `The registry has an index, but its key ${file} is missing.`, {
      hint: "Restore the registry's key from a backup: clients accept no other key.",
    });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await chmod(dirname(file), 0o700);
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, createSigningKey().privateKey, { flag: "wx", mode: 0o600, flush: true });
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  return (await read()) as SigningKey;
}
