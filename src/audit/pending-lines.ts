// Lines of the audit log that are not written yet. They are made at once and kept as bytes: records of calls would survive garbage
// collections while they wait.

import { hash } from "node:crypto";
import { type Head, lineBody, lineEnd, MAX_LINE_BYTES, parseLine } from "./line.ts";

/** Enough for the lines of one write under load. */
const USUAL_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

export interface FittingLines {
  readonly bytes: Buffer;
  /** The last of them. */
  readonly last: Head;
}

export class PendingLines {
  #buffer = Buffer.allocUnsafe(USUAL_BYTES);
  #length = 0;
  #written: Head;
  #last: Head;

  constructor(written: Head) {
    this.#written = written;
    this.#last = written;
  }

  /** The last line that was written. */
  get written(): Head {
    return this.#written;
  }

  get count(): number {
    return this.#last.n - this.#written.n;
  }

  /** `text` is the JSON of an entry, at most as long as `boundedText` allows. */
  add(text: string): void {
    if (this.#length + MAX_LINE_BYTES > this.#buffer.length) this.#resize(this.#buffer.length * 2);
    const start = this.#length;
    const end = start + this.#buffer.write(lineBody(text, this.#last), start);
    const h = hash("sha256", this.#buffer.subarray(start, end), "base64url");
    this.#length = end - 1 + this.#buffer.write(lineEnd(h), end - 1, "latin1");
    this.#last = { n: this.#last.n + 1, h };
  }

  /** The first lines, as many as fit into so many bytes; undefined if the first one does not fit. */
  fitting(max: number): FittingLines | undefined {
    if (this.#length <= max) return { bytes: this.#buffer.subarray(0, this.#length), last: this.#last };
    const end = max <= 0 ? 0 : this.#buffer.lastIndexOf(LINE_FEED, max - 1) + 1;
    return end === 0 ? undefined : this.#until(end);
  }

  /** The first line, whatever its size. */
  first(): FittingLines {
    return this.#until(this.#buffer.indexOf(LINE_FEED) + 1);
  }

  /** Removes lines after they were written. */
  remove({ bytes, last }: FittingLines): void {
    this.#buffer.copyWithin(0, bytes.length, this.#length);
    this.#length -= bytes.length;
    this.#written = last;
    if (this.#length === 0 && this.#buffer.length > USUAL_BYTES) this.#resize(USUAL_BYTES);
  }

  #until(end: number): FittingLines {
    const start = end < 2 ? 0 : this.#buffer.lastIndexOf(LINE_FEED, end - 2) + 1;
    const { n, h } = parseLine(this.#buffer.toString("latin1", start, end - 1)) as unknown as Head;
    return { bytes: this.#buffer.subarray(0, end), last: { n, h } };
  }

  #resize(size: number): void {
    const resized = Buffer.allocUnsafe(size);
    this.#buffer.copy(resized, 0, 0, this.#length);
    this.#buffer = resized;
  }
}
