// Lock between processes: a file `x.lock` beside the locked file `x`, which names its owner. The lock of a dead owner is taken over.

import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { copyFile, link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describeThisProcess, type ProcessIdentity, stateOf } from "./process-identity.ts";

export interface LockOptions {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Another process held the lock for as long as the caller was ready to wait. */
export class LockHeldError extends Error {
  readonly code = "LOCK_HELD";

  constructor(lock: string, pid: number | undefined) {
    super(`${pid === undefined ? "an unknown process" : `process ${pid}`} holds the lock ${lock}`);
  }
}

interface Owner extends ProcessIdentity {
  /** A lock gets a new token each time a process takes it. */
  readonly token: string;
}

const WAIT_MS = 10_000;
/** The lock of an owner on another machine or in another container expires after this time, unless the owner renews it. */
const UNKNOWN_OWNER_MS = 60_000;
const RENEW_MS = UNKNOWN_OWNER_MS / 4;
/** A crash during a take-over leaves a claim behind, which is a lock itself. This limits how many claims are taken over in a row. */
const MAX_CLAIMS = 3;

/** Runs `work` while this process holds the lock of `file`. The lock is not re-entrant. Throws `LockHeldError` after `waitMs`. */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const path = `${file}.lock`;
  const owner = await takeLock(path, performance.now() + (options.waitMs ?? WAIT_MS), options, 0);
  const renewing = setInterval(() => void renewLock(path, owner), RENEW_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    await releaseLock(path, owner);
  }
}

/** Takes the lock of `file` for as long as the process wants it. Undefined if another process holds it; otherwise the release. */
export async function holdFileLock(file: string): Promise<(() => Promise<void>) | undefined> {
  const path = `${file}.lock`;
  try {
    const owner = await takeLock(path, performance.now(), {}, 0);
    const renewing = setInterval(() => void renewLock(path, owner), RENEW_MS).unref();
    return () => {
      clearInterval(renewing);
      return releaseLock(path, owner);
    };
  } catch (error) {
    if (error instanceof LockHeldError) return undefined;
    throw error;
  }
}

/** Never throws. The lock of another owner, who took this one over, is left alone. */
async function renewLock(path: string, { token }: Owner): Promise<void> {
  try {
    if ((await readOwner(path))?.token !== token) return;
    const now = new Date();
    await utimes(path, now, now);
  } catch {
    // The next renewal tries again.
  }
}

async function takeLock(path: string, deadline: number, options: LockOptions, depth: number): Promise<Owner> {
  const owner: Owner = { ...(await describeThisProcess()), token: randomUUID() };
  const temporary = `${path}.${owner.token}.tmp`;
  await writeFile(temporary, JSON.stringify(owner), { flag: "wx", mode: 0o600 });
  try {
    for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
      options.signal?.throwIfAborted();
      if (await placeLock(temporary, path)) return owner;
      const holder = await readOwner(path);
      if (holder?.dead === true && depth < MAX_CLAIMS) {
        const replace = (): Promise<void> => rename(temporary, path);
        if (await takeOver(path, holder.token, replace, deadline, options, depth)) return owner;
      }
      if (performance.now() >= deadline) throw new LockHeldError(path, holder?.pid);
      await sleep(pause * (0.5 + Math.random()), undefined, { signal: options.signal });
    }
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * Replaces the lock of a dead owner. Two processes may see the same dead owner, and the slower one must not remove the new lock of the
 * faster one. So a process first takes a claim named after the dead owner's token, and then reads the lock again.
 */
async function takeOver(
  path: string,
  token: string,
  replace: () => Promise<void>,
  deadline: number,
  options: LockOptions,
  depth: number,
): Promise<boolean> {
  const claim = `${path}.${token}.claim`;
  const claimed = await takeLock(claim, deadline, options, depth + 1);
  try {
    if ((await readOwner(path))?.token !== token) return false;
    await replace();
    return true;
  } finally {
    await releaseLock(claim, claimed);
  }
}

/** Creates the lock file with its content in one step, so that no process reads half of it. */
async function placeLock(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
  }
  // This file system has no hard links.
  try {
    await copyFile(temporary, path, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

interface Holder {
  readonly token: string;
  readonly pid: number | undefined;
  readonly dead: boolean;
}

/** Returns undefined when the lock is gone. */
async function readOwner(path: string): Promise<Holder | undefined> {
  let text: string;
  let found: Stats;
  try {
    [text, found] = await Promise.all([readFile(path, "utf8"), stat(path)]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const old = Date.now() - found.mtimeMs > UNKNOWN_OWNER_MS;
  const owner = parseOwner(text);
  if (owner === undefined) return { token: `unreadable-${found.ino}`, pid: undefined, dead: old };
  const state = await stateOf(owner);
  return { token: owner.token, pid: owner.pid, dead: state === "dead" || (state === "unknown" && old) };
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null;
    if (!Number.isInteger(owner?.pid) || (owner?.pid ?? 0) < 1 || !/^[\w-]{1,64}$/.test(owner?.token ?? ""))
      return undefined;
    return {
      pid: owner?.pid as number,
      started: owner?.started ?? null,
      host: owner?.host ?? "",
      boot: owner?.boot ?? null,
      namespace: owner?.namespace ?? null,
      token: owner?.token as string,
    };
  } catch {
    return undefined;
  }
}

/** Never throws: the work is done. Other processes recognise a lock that stays behind as dead once this process has ended. */
async function releaseLock(path: string, owner: Owner): Promise<void> {
  try {
    if ((await readOwner(path))?.token === owner.token) await rm(path, { force: true });
  } catch {
    // The lock stays behind.
  }
}
