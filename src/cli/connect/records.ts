// Records of connected clients: what `connect` changed in which file, and the content before. A record is written before the
// client's file, so that no crash in between loses anything.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, realpath, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { PortolanError } from "../../errors/index.ts";
import { type ClientId, CLIENTS, type EntryPlace, type Replacement } from "../../formats/clients/index.ts";
import { isObject } from "../../model/index.ts";

export interface ConnectionRecord extends Replacement {
  readonly client: ClientId;
  /** The client's file, with links followed. */
  readonly file: string;
  /** The workspace that the entry serves. */
  readonly workspace: string;
  readonly connectedAt: string;
  /** Hash of the file before; undefined if there was no file. */
  readonly before: string | undefined;
  /** Hash of the file as `connect` wrote it. */
  readonly after: string;
  /** True if the content before contains changes that the person made while the client was connected. */
  readonly merged?: boolean;
  /** The folders that `connect` created for the file, the innermost first; absent from older records. */
  readonly folders?: readonly string[];
}

interface StoredRecord extends ConnectionRecord {
  /** The record that counts until the file is written, if the client was connected already. */
  readonly previous?: ConnectionRecord;
}

export interface NewRecord {
  readonly record: ConnectionRecord;
  /** The content of the file before; undefined if there was no file. */
  readonly before: string | undefined;
  /** The record that counts now, if the client is connected already. */
  readonly previous: ConnectionRecord | undefined;
}

export interface Records {
  readonly folder: string;
  /** The record of a file, given its hash now. */
  find(file: string, hash: string | undefined): Promise<ConnectionRecord | undefined>;
  /** All records; damaged ones are left out. */
  list(): Promise<readonly ConnectionRecord[]>;
  /** The content of the file before; empty if there was none. */
  readBefore(record: ConnectionRecord): Promise<string>;
  backupOf(record: ConnectionRecord): string | undefined;
  /**
   * Keeps the record and the content before, runs `write`, and forgets the previous record. Until then, both are kept: the
   * hash of the file tells which one counts.
   */
  save(next: NewRecord, write: () => Promise<void>): Promise<void>;
  /** Forgets the record; `keepBackup` leaves the content before where it is. */
  remove(record: ConnectionRecord, keepBackup?: boolean): Promise<void>;
  /** One command at a time changes a client's file. */
  locked<T>(file: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

const VERSION = 1;
const RECORD = "record.json";

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The file that a path leads to; a file that does not exist yet is named from its folder. */
export async function realFile(file: string): Promise<string> {
  return realpath(file).catch(async () =>
    join(await realpath(dirname(file)).catch(() => dirname(file)), basename(file)),
  );
}

export async function openRecords(given?: string): Promise<Records> {
  const folder = given ?? (await defaultFolder());
  const folderOf = (file: string): string => join(folder, hashOf(file).slice(0, 32));
  const backupFile = (file: string, hash: string): string => join(folderOf(file), `${hash}.before`);
  const read = async (path: string): Promise<StoredRecord | undefined> => {
    const text = await readFile(path, "utf8").catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return undefined;
      throw damaged(path, `it cannot be read (${thrown.code})`, thrown);
    });
    return text === undefined ? undefined : parseRecord(text, path);
  };
  const write = async (record: StoredRecord): Promise<void> => {
    const content = `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`;
    await writeAtomic(join(folderOf(record.file), RECORD), Buffer.from(content), { mode: 0o600 });
  };
  return {
    folder,
    async find(file, hash) {
      const stored = await read(join(folderOf(file), RECORD));
      if (stored === undefined) return undefined;
      const { previous, ...record } = stored;
      return previous !== undefined && hash === previous.after ? previous : record;
    },
    async list() {
      const names: string[] = await readdir(folder).catch(() => []);
      const found = await Promise.all(
        names.toSorted().map((name) => read(join(folder, name, RECORD)).catch(() => undefined)),
      );
      return found.flatMap((stored) => {
        if (stored === undefined) return [];
        const { previous: _previous, ...record } = stored;
        return [record];
      });
    },
    async readBefore(record) {
      if (record.before === undefined) return "";
      const path = backupFile(record.file, record.before);
      const text = await readFile(path, "utf8").catch((thrown: NodeJS.ErrnoException) => {
        throw damaged(path, `it cannot be read (${thrown.code})`, thrown);
      });
      if (hashOf(text) !== record.before) throw damaged(path, "its content has changed");
      return text;
    },
    backupOf: ({ file, before }) => (before === undefined ? undefined : backupFile(file, before)),
    async save({ record, before, previous }, writeFile) {
      const own = folderOf(record.file);
      await mkdir(own, { recursive: true, mode: 0o700 });
      if (before !== undefined)
        await writeAtomic(backupFile(record.file, hashOf(before)), Buffer.from(before), { mode: 0o600 });
      await write({ ...record, previous });
      await writeFile();
      await write(record);
      await removeLeftovers(join(own, RECORD));
      for (const name of await readdir(own))
        if (name.endsWith(".before") && name !== `${record.before}.before`)
          await rm(join(own, name), { force: true });
    },
    async remove({ file }, keepBackup = false) {
      if (keepBackup) await rm(join(folderOf(file), RECORD), { force: true });
      else await rm(folderOf(file), { recursive: true, force: true });
    },
    async locked(file, work, signal) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return withFileLock(folderOf(file), work, { signal });
    },
  };
}

async function defaultFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "connections");
}

function parseRecord(text: string, path: string): StoredRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(path, "it is not JSON", cause);
  }
  if (!isObject(value) || value["version"] !== VERSION)
    throw damaged(path, "another version of Portolan wrote it");
  const { version: _version, previous, ...record } = value;
  if (!isRecord(record) || (previous !== undefined && !isRecord(previous)))
    throw damaged(path, "a field is missing");
  return { ...record, previous };
}

function isRecord(value: unknown): value is ConnectionRecord {
  if (!isObject(value)) return false;
  const { client, file, workspace, connectedAt, before, after, entry, removed, inputs } = value;
  const isText = (item: unknown): item is string => typeof item === "string";
  return (
    isText(client) &&
    Object.hasOwn(CLIENTS, client) &&
    [file, workspace, connectedAt, after].every(isText) &&
    (before === undefined || isText(before)) &&
    isPlace(entry) &&
    isObject(value["value"]) &&
    Array.isArray(removed) &&
    removed.every(isPlace) &&
    Array.isArray(inputs) &&
    inputs.every(isText)
  );
}

function isPlace(value: unknown): value is EntryPlace {
  return (
    isObject(value) &&
    typeof value["name"] === "string" &&
    Array.isArray(value["container"]) &&
    value["container"].every((step) => typeof step === "string")
  );
}

function damaged(path: string, why: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "FILE_FAILED",
    `Portolan cannot read its record of a connected client, ${path}: ${why}.`,
    {
      cause,
      data: { file: path },
      hint: `Restore the client's config file by hand, then delete the folder ${dirname(path)}.`,
    },
  );
}
