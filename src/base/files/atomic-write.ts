// Atomic file writes: temporary file, flush, size check, rename, flush of the folder. A reader sees the old or the new content.

import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { type FileHandle, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const LEFTOVER_AGE_MS = 60_000;

export interface WriteOptions {
  readonly mode: number;
  /** The file whose mode and owner the new one gets. */
  readonly like?: Pick<Stats, "mode" | "uid" | "gid">;
  /** Replaces the disk in tests of faults that a real disk does not produce on command. */
  readonly writeBytes?: (file: FileHandle, bytes: Uint8Array) => Promise<void>;
  /** Called between the temporary file and the rename. */
  readonly beforeRename?: () => Promise<void>;
}

/** Replaces the content of `path`. After a failure the old content is unchanged and the temporary file is removed. */
export async function writeAtomic(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  // A symbolic link stays; the file that it points to is replaced.
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${randomUUID()}.tmp`;
  await writeNew(temporary, bytes, options);
  try {
    await options.beforeRename?.();
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(target));
}

/** Writes a file that is not there yet, whole and flushed. After a failure the file is removed; one that was there is unchanged. */
export async function writeNew(
  path: string,
  bytes: Uint8Array,
  { mode, like, writeBytes = writeAll }: Omit<WriteOptions, "beforeRename">,
): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    try {
      await writeBytes(file, bytes);
      if (like !== undefined) {
        // Only an administrator may give a file away; for others it is theirs already, or stays theirs.
        if (process.getuid?.() === 0) await file.chown(like.uid, like.gid);
        await file.chmod(like.mode & 0o7777);
      }
      await file.sync();
      const { size } = await file.stat();
      // A full disk may shorten a write without an error.
      if (size !== bytes.length)
        throw new Error(`${size} of ${bytes.length} bytes were written: is the disk full?`);
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

/** Removes temporary files that killed writers left beside `path`. The caller holds the lock of `path`, so no other writer is active. */
export async function removeLeftovers(path: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const folder = dirname(target);
  const prefix = `${basename(target)}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const rest = name.slice(prefix.length);
    const ours = /^[0-9a-f-]{36}\.tmp$/.test(rest);
    // Files of a lock may belong to a process that waits for it, but none waits for a minute.
    const ofLock = /^lock\.[\w.-]+\.(tmp|claim)$/.test(rest);
    if (ours || (ofLock && (await isOld(join(folder, name)))))
      await rm(join(folder, name), { force: true }).catch(() => {});
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  await file.writeFile(bytes);
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > LEFTOVER_AGE_MS;
}

/** Makes the rename durable. Systems that cannot open a folder do not need this. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // This system cannot open a folder.
  }
}
