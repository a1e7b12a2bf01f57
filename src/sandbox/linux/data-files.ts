// Files that are passed to a child as descriptors: contents that have no name on the disk, so that none is left behind, and small
// files of the machine.

import { closeSync, constants, fstatSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * One file per content: filters and stubs are the same for most servers. The cache is process-wide because it
 * contains constants only.
 */
const kept = new Map<string, number>();
const MAX_KEPT = 64;

/** Opens a descriptor of its own, positioned at the start. The caller closes it. */
export function openData(content: string | Uint8Array): number {
  const bytes = Buffer.from(content);
  const key = bytes.toString("latin1");
  let file = kept.get(key);
  if (file === undefined) {
    file = createNameless(bytes);
    kept.set(key, file);
    const [oldest] = kept;
    if (kept.size > MAX_KEPT && oldest !== undefined) {
      kept.delete(oldest[0]);
      closeSync(oldest[1]);
    }
  }
  // Opened again, because two children that share a descriptor would share its position.
  return openSync(`/proc/self/fd/${file}`, "r");
}

/** For secret content, which is not cached. */
export function openSecretData(content: string): number {
  const file = createNameless(Buffer.from(content));
  try {
    return openSync(`/proc/self/fd/${file}`, "r");
  } finally {
    closeSync(file);
  }
}

const SMALL_BYTES = 256 * 1024;

/** Opens a file of the machine that can be copied quickly. The caller closes it. */
export function openSmallFile(path: string): number | undefined {
  let fd: number | undefined;
  try {
    // A pipe, which the system would not have there, must not block.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(fd);
    if (found.isFile() && found.size <= SMALL_BYTES) return fd;
  } catch {
    // Without a copy, the mount says what is wrong.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

function createNameless(bytes: Uint8Array): number {
  const file = openNameless();
  for (let written = 0; written < bytes.length;) {
    const count = writeSync(file, bytes, written);
    if (count === 0) throw new Error("the disk is full");
    written += count;
  }
  return file;
}

/** O_TMPFILE, which Node has no constant for: the file never has a name that others could open. */
const TMPFILE = 0o20000000 | (constants.O_DIRECTORY ?? 0);

function openNameless(): number {
  try {
    if (process.platform === "linux") return openSync(tmpdir(), constants.O_RDWR | TMPFILE, 0o600);
  } catch {
    // Some file systems do not support it.
  }
  const folder = mkdtempSync(join(tmpdir(), "portolan-data-"));
  try {
    return openSync(join(folder, "data"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
