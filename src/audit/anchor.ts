// Anchor of an audit log: number and hash of its last line, kept in another folder, so that missing lines at the end show as well.
// It has two slots, which are written in turn: a crash can damage the newer one only.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PortolanError } from "../errors/index.ts";
import { type Head, START } from "./line.ts";

export interface Anchor {
  /** The last line that is certainly on the disk. */
  readonly last: Head;
  /** The line before the first one that is kept: older ones were removed by the setting `keep`. */
  readonly first: Head;
  /** True when the writer has ended in order: no line may follow. */
  readonly closed: boolean;
  readonly time: string;
}

const SLOT_BYTES = 512;
const KEY_BYTES = 32;

export class AnchorFile {
  readonly path: string;
  readonly #key: Buffer;
  #fd: number | undefined;
  #slot = 0;

  private constructor(path: string, key: Buffer) {
    this.path = path;
    this.#key = key;
  }

  /** Creates the folder and the key of the anchors, if they do not exist. */
  static async open(path: string): Promise<AnchorFile> {
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new AnchorFile(path, await keyOf(folder));
  }

  /** The newest valid slot; undefined if there is none. */
  read(): Anchor | undefined {
    let text: string;
    try {
      text = readFileSync(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const slots = [0, 1].map((slot) =>
      parse(text.slice(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES), this.#key),
    );
    const [first, second] = slots;
    const newest = first !== undefined && second !== undefined ? newer(first, second) : (first ?? second);
    if (newest !== undefined) this.#slot = newest === first ? 1 : 0;
    return newest;
  }

  /** Writes the anchor of an empty log to the disk. */
  create(): void {
    this.write({ last: START, first: START, closed: false, time: new Date().toISOString() });
    fsyncSync(this.#open());
  }

  write(anchor: Anchor): void {
    const fd = this.#open();
    const text = JSON.stringify({ ...anchor, mac: macOf(anchor, this.#key) });
    writeSync(fd, `${text.padEnd(SLOT_BYTES - 1)}\n`, this.#slot * SLOT_BYTES, "utf8");
    this.#slot = 1 - this.#slot;
  }

  #open(): number {
    this.#fd ??= openSync(this.path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return this.#fd;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function newer(a: Anchor, b: Anchor): Anchor {
  if (a.last.n !== b.last.n) return a.last.n > b.last.n ? a : b;
  // Of two with the same line, the later one counts: a log that was opened again is no longer closed.
  return a.time > b.time || (a.time === b.time && a.closed) ? a : b;
}

function parse(text: string, key: Buffer): Anchor | undefined {
  try {
    const { mac, ...anchor } = JSON.parse(text) as Anchor & { mac?: unknown };
    const expected = Buffer.from(macOf(anchor, key));
    const given = Buffer.from(String(mac));
    return given.length === expected.length && timingSafeEqual(given, expected) ? anchor : undefined;
  } catch {
    return undefined;
  }
}

function macOf({ last, first, closed, time }: Anchor, key: Buffer): string {
  const text = JSON.stringify([last.n, last.h, first.n, first.h, closed, time]);
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** Two processes that start at the same time get the same key. */
async function keyOf(folder: string): Promise<Buffer> {
  const path = join(folder, "key");
  try {
    await writeFile(path, randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const key = await readFile(path);
  if (key.length !== KEY_BYTES)
    throw new PortolanError(
      "FILE_FAILED",
      `the key of the audit log, ${path}, has ${key.length} bytes, not ${KEY_BYTES}`,
      {
        hint: `Restore ${path} from a backup. Or remove it: Portolan then creates a new key, and cannot detect whether the last records of the log are missing.`,
      },
    );
  return key;
}
