// Lines of the audit log that are not written yet. They are made at once and kept as bytes: records of calls would survive garbage
// collections while they wait.

import {
  entryLine,
  GROUP_END_BYTES,
  groupLines,
  type Head,
  lineNumber,
  MAX_GROUP_BYTES,
  MAX_LINE_BYTES,
} from "./line.ts";

/** Enough for the lines of one write under load. */
const USUAL_BYTES = 512 * 1024;
const LINE_FEED = 0x0a;

/** Lines that are written together. */
export interface Group {
  readonly bytes: Buffer;
  /** Bytes of its lines among the waiting ones. */
  readonly taken: number;
  readonly head: Head;
}

export class PendingLines {
  #buffer = Buffer.allocUnsafe(USUAL_BYTES);
  #length = 0;
  #count = 0;
  #written: Head;

  constructor(written: Head) {
    this.#written = written;
  }

  /** The end of the last group that was written. */
  get written(): Head {
    return this.#written;
  }

  get count(): number {
    return this.#count;
  }

  /** `text` is the JSON of an entry, at most as long as `boundedText` allows. */
  add(text: string): void {
    if (this.#length + MAX_LINE_BYTES > this.#buffer.length) this.#resize(this.#buffer.length * 2);
    this.#count += 1;
    this.#length += this.#buffer.write(entryLine(text, this.#written.n + this.#count), this.#length);
  }

  /** A group of the first lines, as many as fit into so many bytes; undefined if the first one does not fit. */
  fitting(max: number): Group | undefined {
    const room = Math.min(max - GROUP_END_BYTES, MAX_GROUP_BYTES);
    if (this.#length <= room) return this.#group(this.#length);
    const end = room <= 0 ? 0 : this.#buffer.lastIndexOf(LINE_FEED, room - 1) + 1;
    return end === 0 ? undefined : this.#group(end);
  }

  /** A group of the first line, whatever its size. */
  first(): Group {
    return this.#group(this.#buffer.indexOf(LINE_FEED) + 1);
  }

  /** Removes the lines of a group after it was written. */
  remove({ taken, head }: Group): void {
    this.#buffer.copyWithin(0, taken, this.#length);
    this.#length -= taken;
    this.#count -= head.n - this.#written.n;
    this.#written = head;
    if (this.#length === 0 && this.#buffer.length > USUAL_BYTES) this.#resize(USUAL_BYTES);
  }

  #group(taken: number): Group {
    const { bytes, h } = groupLines(this.#buffer.subarray(0, taken), this.#written);
    return { bytes, taken, head: { n: this.#lastNumber(taken), h } };
  }

  /** The number of the last line that ends at this place. */
  #lastNumber(end: number): number {
    if (end === this.#length) return this.#written.n + this.#count;
    const start = end < 2 ? 0 : this.#buffer.lastIndexOf(LINE_FEED, end - 2) + 1;
    return lineNumber(this.#buffer.toString("latin1", start, end - 1)) ?? Number.NaN;
  }

  #resize(size: number): void {
    const resized = Buffer.allocUnsafe(size);
    this.#buffer.copy(resized, 0, 0, this.#length);
    this.#buffer = resized;
  }
}
