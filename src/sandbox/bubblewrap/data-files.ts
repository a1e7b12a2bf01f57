// Small files that are handed to a child as descriptors: they have no name on the disk, so none is left behind however this program ends.

import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One file per content for the life of this program; filters and stubs are the same for most servers. */
const kept = new Map<string, number>();
const MAX_KEPT = 64;

/** A descriptor of its own, read from the start; whoever asked closes it. */
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
  // Opened anew, so that two children which read it at once do not move each other along.
  return openSync(`/proc/self/fd/${file}`, "r");
}

/** For what must not be kept: opened, handed over, forgotten. */
export function openSecretData(content: string): number {
  const file = createNameless(Buffer.from(content));
  try {
    return openSync(`/proc/self/fd/${file}`, "r");
  } finally {
    closeSync(file);
  }
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

/** The flag that Node has no name for: a file that never has a name, so that nobody who sees the folder can open it in between. */
const TMPFILE = 0o20000000 | (constants.O_DIRECTORY ?? 0);

function openNameless(): number {
  try {
    if (process.platform === "linux") return openSync(tmpdir(), constants.O_RDWR | TMPFILE, 0o600);
  } catch {
    // Not every file system can.
  }
  const folder = mkdtempSync(join(tmpdir(), "portolan-data-"));
  try {
    return openSync(join(folder, "data"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
