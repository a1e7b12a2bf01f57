// Store of installed programs: folders that appear complete or not at all, with a record of what each spec
// resolved to.

import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { isPortolanError, machineFault, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { makeFolder } from "./make-folder.ts";
import { brokenParts, findFaults, sealFiles, type Seals } from "./broken-parts.ts";
import type { FileFault } from "./file-fault.ts";
import { compareWithList, writeFileList } from "./file-list.ts";

/** The package or file that a spec resolved to. */
export interface StoreRecord {
  readonly spec: string;
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** The name of its folder in the store. */
  readonly key: string;
  /** Seals of some files; in the record inside of the folder. */
  readonly seals?: Seals;
  /** The hash of the list of all files. Entries of older versions of Portolan have no list. */
  readonly files?: string;
}

/** The result of an installation in a work folder. */
export interface Made extends Omit<StoreRecord, "spec" | "seals" | "files"> {
  /** Paths of the files that are verified each time the entry is used. */
  readonly sealed: readonly string[];
}

export interface StoreWork {
  /** The work folder, which becomes the entry of `key` in one step. */
  readonly folder: string;
}

/** The record of a spec, and its broken parts as text. */
export interface Inspected {
  readonly record: StoreRecord;
  readonly broken: readonly string[];
}

/** The result of comparing every file of an entry with its hash. */
export interface Verified {
  readonly faults: readonly FileFault[];
  /** False if the entry has no list of its files, so that only some of them were compared. */
  readonly isComplete: boolean;
}

export interface Store {
  /** Finds an entry without network. Undefined if it is missing or broken. */
  find(spec: string): Promise<StoreRecord | undefined>;
  /** Undefined if it is missing. */
  inspect(spec: string): Promise<Inspected | undefined>;
  /** Compares every file. Undefined if the entry is missing. With `discard`, a faulty entry is marked as broken. */
  verify(spec: string, options?: { readonly discard?: boolean }): Promise<Verified | undefined>;
  folderOf(key: string): string;
  /**
   * Lets `make` fill a work folder and keeps the result. One process at a time installs a spec; a process that
   * waited finds the result of the other one, unless `again` is set.
   */
  add(
    spec: string,
    make: (work: StoreWork) => Promise<Made>,
    options?: { readonly again?: boolean; readonly signal?: AbortSignal },
  ): Promise<StoreRecord>;
  /** Marks an entry as broken, so that the next installation replaces it. */
  spoil(key: string): Promise<void>;
  list(): Promise<StoreRecord[]>;
  /** Removes a spec, and its folder unless another spec uses it. */
  remove(spec: string): Promise<boolean>;
}

const MARKER = ".portolan.json";
const WAIT_MS = 15 * 60_000;
/** Another machine treats a lock as stale after a minute. */
const HEARTBEAT_MS = 15_000;
const PROBE_BYTES = 1024 * 1024;

/** In the user's data folder; honours XDG_DATA_HOME. */
export async function defaultStoreRoot(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "store");
}

/** Called between the steps of an installation, so that tests can stop it there. */
export type Pause = (point: "begun" | "made" | "marked" | "placed") => Promise<void>;

/** `kind` separates packages and downloads. */
export function openStore(root: string, kind: "npm" | "files", pause: Pause = async () => {}): Store {
  const [entries, specs, work] = ["entries", "specs", "work"].map((name) => join(root, kind, name)) as [
    string,
    string,
    string,
  ];
  const idOf = (spec: string): string => createHash("sha256").update(spec).digest("hex").slice(0, 40);
  const recordOf = (spec: string): string => join(specs, `${idOf(spec)}.json`);
  const folderOf = (key: string): string => join(entries, key);

  const inspect = async (spec: string): Promise<Inspected | undefined> => {
    const record = await readRecord(recordOf(spec));
    if (record === undefined || record.spec !== spec) return undefined;
    return { record, broken: await brokenEntry(folderOf(record.key), record) };
  };

  const find = async (spec: string): Promise<StoreRecord | undefined> => {
    const found = await inspect(spec);
    return found?.broken.length === 0 ? found.record : undefined;
  };

  const list = async (): Promise<StoreRecord[]> => {
    const names = await readdir(specs).catch(() => []);
    const found = await Promise.all(
      names.filter((name) => name.endsWith(".json")).map((name) => readRecord(join(specs, name))),
    );
    return found.filter((record) => record !== undefined).sort((a, b) => (a.spec < b.spec ? -1 : 1));
  };

  /** Removes work folders that dead processes left behind. A lock that can be taken belongs to no running process. */
  const sweep = async (own: string): Promise<void> => {
    for (const name of await readdir(work).catch(() => [])) {
      const id = /^([0-9a-f]{40})\.[0-9a-f-]{36}(?:\.old)?$/.exec(name)?.[1];
      if (id === undefined) continue;
      const clear = (): Promise<void> => removeTree(join(work, name));
      if (id === own) await clear();
      else await withFileLock(join(work, id), clear, { waitMs: 0 }).catch(() => {});
    }
  };

  const keep = async (folder: string, record: StoreRecord): Promise<void> => {
    await refuseFullDisk(folder);
    const write = (path: string, value: StoreRecord): Promise<void> =>
      writeAtomic(path, Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`), { mode: 0o644 });
    await write(join(folder, MARKER), record);
    await pause("marked");
    await placeFolder(folder, folderOf(record.key), record);
    await pause("placed");
    // An entry that another spec uses already keeps its own list, or has none.
    const placed = await readRecord(join(folderOf(record.key), MARKER));
    await write(recordOf(record.spec), { ...record, files: placed?.files });
    await removeLeftovers(recordOf(record.spec));
  };

  const spoil = (key: string): Promise<void> => rm(join(folderOf(key), MARKER), { force: true });

  return {
    find,
    inspect,
    list,
    folderOf,
    spoil,
    async verify(spec, { discard = false } = {}) {
      const record = await readRecord(recordOf(spec));
      if (record === undefined || record.spec !== spec) return undefined;
      const verified = await verifyEntry(folderOf(record.key), record);
      if (discard && verified !== undefined && verified.faults.length > 0) await spoil(record.key);
      return verified;
    },
    async add(spec, make, { again = false, signal } = {}) {
      const id = idOf(spec);
      const lock = join(work, id);
      const install = async (): Promise<StoreRecord> => {
        const meanwhile = again ? undefined : await find(spec);
        if (meanwhile !== undefined) return meanwhile;
        const beat = setInterval(() => void touch(`${lock}.lock`), HEARTBEAT_MS);
        const folder = join(work, `${id}.${randomUUID()}`);
        try {
          await sweep(id);
          await removeLeftovers(lock);
          await mkdir(folder, { mode: 0o755 });
          await pause("begun");
          const { sealed, ...found } = await make({ folder });
          const seals = await sealFiles(folder, sealed);
          const made: StoreRecord = { spec, ...found, seals, files: await writeFileList(folder, [MARKER]) };
          await pause("made");
          await keep(folder, made);
          return made;
        } finally {
          clearInterval(beat);
          await removeTree(folder);
        }
      };
      try {
        const before = again ? undefined : await find(spec);
        if (before !== undefined) return before;
        for (const path of [entries, specs, work]) await makeFolder(path, 0o755);
        return await withFileLock(lock, install, { waitMs: WAIT_MS, signal });
      } catch (error) {
        throw signal?.aborted === true ? (signal.reason as Error) : storeError(error, spec);
      }
    },
    async remove(spec) {
      const record = await readRecord(recordOf(spec));
      if (record === undefined) return false;
      await withFileLock(join(work, idOf(spec)), async () => {
        await rm(recordOf(spec), { force: true });
        const shared = (await list()).some(({ key }) => key === record.key);
        if (shared) return;
        const away = join(work, `${idOf(spec)}.${randomUUID()}`);
        await rename(folderOf(record.key), away).catch(() => {});
        await removeTree(away);
      });
      return true;
    },
  };
}

/** An entry with the same key has the same content. A broken one is replaced. */
async function placeFolder(folder: string, target: string, record: StoreRecord): Promise<void> {
  try {
    await rename(folder, target);
    return;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "EPERM" && code !== "EACCES") throw error;
  }
  if ((await brokenEntry(target, record)).length === 0) return;
  const away = `${folder}.old`;
  await rename(target, away);
  await rename(folder, target);
  await removeTree(away);
}

async function brokenEntry(folder: string, record: StoreRecord): Promise<string[]> {
  const marker = await readRecord(join(folder, MARKER));
  if (marker?.integrity === record.integrity && marker.key === record.key)
    return brokenParts(folder, marker.seals);
  const isThere = await stat(folder).catch(() => undefined);
  return [isThere === undefined ? "its folder is missing" : "its folder is not complete"];
}

async function verifyEntry(folder: string, record: StoreRecord): Promise<Verified | undefined> {
  if ((await stat(folder).catch(() => undefined)) === undefined) return undefined;
  const marker = await readRecord(join(folder, MARKER));
  if (marker?.integrity !== record.integrity || marker.key !== record.key)
    return {
      faults: [{ path: MARKER, state: marker === undefined ? "missing" : "changed" }],
      isComplete: false,
    };
  if (marker.files === undefined && record.files !== undefined)
    return { faults: [{ path: MARKER, state: "changed" }], isComplete: false };
  if (marker.files === undefined)
    return { faults: await findFaults(folder, marker.seals), isComplete: false };
  return { faults: await compareWithList(folder, marker.files, [MARKER]), isComplete: true };
}

async function readRecord(path: string): Promise<StoreRecord | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (!isObject(value)) return undefined;
    const { spec, name, version, integrity, key } = value;
    const texts = [spec, name, version, integrity, key];
    if (!texts.every((text) => typeof text === "string" && text !== "")) return undefined;
    // The key becomes a part of a path.
    return /^[\w-]{16,128}$/.test(key as string) ? (value as unknown as StoreRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** A write on a full disk may be cut short without an error. If the disk accepts another megabyte, it was not full. */
export async function refuseFullDisk(folder: string): Promise<void> {
  const path = join(folder, ".portolan-probe");
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(Buffer.alloc(PROBE_BYTES, 1));
      await file.sync();
    } finally {
      await file.close();
    }
    if ((await stat(path)).size !== PROBE_BYTES)
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  } finally {
    await rm(path, { force: true });
  }
}

async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 }).catch(() => {});
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}

const READ_ONLY =
  "Portolan cannot write to this folder of its package store. Make the folder writable. On Linux, XDG_DATA_HOME sets another folder for Portolan's data.";

function storeError(error: unknown, spec: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isPortolanError(error) || typeof code !== "string") return error;
  const hints: Readonly<Record<string, string>> = {
    ENOSPC: "Free some space on the disk of the store.",
    EDQUOT: "Free some of your quota on the disk of the store.",
    EMFILE: "Too many files are open: try again, or raise the limit (ulimit -n).",
    EROFS: READ_ONLY,
    EACCES: READ_ONLY,
    EPERM: READ_ONLY,
  };
  return new PortolanError("INSTALL_FAILED", `${spec} could not be installed: ${message}`, {
    cause: error,
    data: { spec, reason: code },
    hint: hints[code] ?? machineFault(error)?.hint,
  });
}
