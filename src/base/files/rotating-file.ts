// Log file with a limited size: when it is full, it is renamed to `<name>.1`, and a new one begins.

import { appendFileSync, chmodSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

export class RotatingFile {
  readonly path: string;
  readonly #maxBytes: number;
  #size: number | undefined;

  constructor(path: string, maxBytes: number) {
    this.path = path;
    this.#maxBytes = maxBytes;
  }

  /** Appends a line. Never throws: a full disk must not end the program that logs. */
  write(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    try {
      this.#size ??= this.#open();
      if (this.#size > 0 && this.#size + bytes.length > this.#maxBytes) {
        renameSync(this.path, `${this.path}.1`);
        this.#size = 0;
      }
      appendFileSync(this.path, bytes, { mode: 0o600 });
      this.#size += bytes.length;
    } catch {
      // The next line tries again.
      this.#size = undefined;
    }
  }

  #open(): number {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (found !== undefined && (found.mode & 0o077) !== 0) chmodSync(this.path, 0o600);
    return found?.size ?? 0;
  }
}
