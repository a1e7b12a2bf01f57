// Line splitter of the relay: whole lines as bytes. A line over the limit passes in parts, because the gateway is the one to refuse it.

const NEWLINE = 10;

export interface SplitLines {
  /** A whole line, without its end. */
  line(bytes: Buffer): void;
  /** A part of a line that is longer than the limit, with its end if it has come. */
  part(bytes: Buffer): void;
}

export class LineSplitter {
  readonly #maxBytes: number;
  readonly #on: SplitLines;
  #chunks: Buffer[] = [];
  #length = 0;
  /** True inside of a line that is longer than the limit. */
  #passing = false;

  constructor(maxBytes: number, on: SplitLines) {
    this.#maxBytes = maxBytes;
    this.#on = on;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#passing) {
        this.#passing = false;
        this.#on.part(chunk.subarray(start, end + 1));
      } else this.#on.line(this.#take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(start === 0 ? chunk : chunk.subarray(start));
  }

  /** Forgets the beginning of a line. */
  reset(): void {
    this.#chunks = [];
    this.#length = 0;
    this.#passing = false;
  }

  #hold(bytes: Buffer): void {
    if (this.#passing) return this.#on.part(bytes);
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    if (this.#length <= this.#maxBytes) return;
    const whole = Buffer.concat(this.#chunks);
    this.reset();
    this.#passing = true;
    this.#on.part(whole);
  }

  #take(last: Buffer): Buffer {
    if (this.#chunks.length === 0) return last;
    const whole = Buffer.concat([...this.#chunks, last]);
    this.reset();
    return whole;
  }
}
