// File of login states, written whole under a lock. It has states and times only, never a token.

import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export type AuthState = "unknown" | "unauthed" | "logging-in" | "authed" | "expired";

export interface AuthRecord {
  readonly state: AuthState;
  /** Time of the last change, in milliseconds since 1970. */
  readonly since: number;
  readonly nextRefreshAt?: number;
  /** The user logged out: files that are left do not count as a login. */
  readonly loggedOut?: true;
}

export interface AuthStore {
  get(key: string): AuthRecord | undefined;
  set(key: string, record: AuthRecord): Promise<void>;
  /** Reads the changes of other processes; false when there are none. */
  reload(): Promise<boolean>;
}

const STATES: ReadonlySet<unknown> = new Set(["unknown", "unauthed", "logging-in", "authed", "expired"]);
const MAX_RECORDS = 10_000;

/** Without a file, the states last as long as this program runs. */
export function createAuthStore(file: string | undefined): AuthStore {
  let records = new Map<string, AuthRecord>();
  let seen: string | undefined;
  /** Keys with a write under way: the record in memory is newer than the one in the file. */
  const writing = new Map<string, number>();
  const reload = async (): Promise<boolean> => {
    if (file === undefined) return false;
    const found = await stat(file).catch(() => undefined);
    const now = found === undefined ? "" : `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (now === seen) return false;
    seen = now;
    const all = await read(file);
    for (const key of writing.keys()) all.delete(key);
    records = new Map([...records, ...all]);
    return true;
  };
  return {
    get: (key) => records.get(key),
    reload,
    async set(key, record) {
      records.set(key, record);
      if (file === undefined) return;
      writing.set(key, (writing.get(key) ?? 0) + 1);
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await withFileLock(file, async () => {
          const all = await read(file);
          all.delete(key);
          // Of several writes under way, the last record counts.
          all.set(key, records.get(key) ?? record);
          const kept = [...all].slice(-MAX_RECORDS);
          const text = JSON.stringify({ version: 1, logins: Object.fromEntries(kept) }, undefined, 2);
          await writeAtomic(file, Buffer.from(`${text}\n`), { mode: 0o600 });
        });
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new PortolanError(
          "FILE_FAILED",
          `the file with the login states of drivers, ${file}, cannot be written: ${why}`,
          { cause },
        );
      } finally {
        const left = (writing.get(key) ?? 1) - 1;
        if (left === 0) writing.delete(key);
        else writing.set(key, left);
      }
    },
  };
}

/** Key of the login of one user to one driver in one workspace. */
export function authKey(driver: string, workspace: string | undefined, user: string | undefined): string {
  const who =
    workspace === undefined && user === undefined
      ? '"",""'
      : JSON.stringify([workspace ?? "", user ?? ""]).slice(1, -1);
  return `["${driver}",${who}]`;
}

/** A record that cannot be read is unknown: at worst a user logs in again. */
async function read(file: string): Promise<Map<string, AuthRecord>> {
  const records = new Map<string, AuthRecord>();
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    const logins: unknown = isObject(value) ? value.logins : undefined;
    for (const [key, record] of Object.entries(isObject(logins) ? logins : {})) {
      if (!isObject(record) || !STATES.has(record.state) || typeof record.since !== "number") continue;
      // A program that ended during a login did not complete it.
      const state = record.state === "logging-in" ? "unauthed" : (record.state as AuthState);
      const nextRefreshAt = typeof record.nextRefreshAt === "number" ? record.nextRefreshAt : undefined;
      const loggedOut = record.loggedOut === true || undefined;
      records.set(key, { state, since: record.since, nextRefreshAt, loggedOut });
    }
  } catch {
    // A file that cannot be read has no records.
  }
  return records;
}
