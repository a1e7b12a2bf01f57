// Server-sent events parser, as in the HTML standard, with a size limit per event.

import { ByteBuffer } from "../byte-buffer.ts";

const LF = 10;
const CR = 13;

export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

export interface SseSink {
  event(event: SseEvent): void;
  /** An event exceeded the limit; the parser stops. */
  oversized(): void;
}

export class SseParser {
  /** The id that a resumed stream continues after. */
  lastEventId: string | undefined;
  /** The reconnection delay that the server requests. */
  retryMs: number | undefined;
  /** How many events were delivered. */
  delivered = 0;
  readonly #sink: SseSink;
  readonly #maxBytes: number;
  readonly #buffer = new ByteBuffer();
  #started = false;
  #afterCr = false;
  #event = "";
  #data: string[] = [];
  #size = 0;
  #stopped = false;

  constructor(maxBytes: number, sink: SseSink) {
    this.#maxBytes = maxBytes;
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let start = 0;
    // CR is searched once per chunk, because almost no server uses it as a line end.
    let cr = chunk.indexOf(CR);
    while (!this.#stopped && start < chunk.length) {
      if (this.#afterCr) {
        this.#afterCr = false;
        if (chunk[start] === LF) start += 1;
        if (start === chunk.length) break;
      }
      const lf = chunk.indexOf(LF, start);
      if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start);
      const end = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr);
      if (end === -1) {
        this.#buffer.append(chunk.subarray(start));
        break;
      }
      this.#line(this.#takeLine(chunk, start, end));
      this.#afterCr = end === cr;
      start = end + 1;
    }
    if (!this.#stopped && this.#buffer.length + this.#size > this.#maxBytes) this.#overflow();
  }

  #takeLine(chunk: Buffer, start: number, end: number): string {
    let line: string;
    if (this.#buffer.length === 0) {
      line = chunk.toString("utf8", start, end);
    } else {
      this.#buffer.append(chunk.subarray(start, end));
      line = this.#buffer.take().toString("utf8");
    }
    if (this.#started) return line;
    this.#started = true;
    return line.startsWith("\uFEFF") ? line.slice(1) : line;
  }

  #line(line: string): void {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data.push(value);
      this.#size += value.length + 1;
      if (this.#size > this.#maxBytes) this.#overflow();
    } else if (field === "event") {
      this.#event = value;
    } else if (field === "id") {
      if (!value.includes("\0")) this.lastEventId = value;
    } else if (field === "retry" && /^\d{1,9}$/.test(value)) {
      this.retryMs = Number(value);
    }
  }

  #dispatch(): void {
    const data = this.#data.length === 1 ? (this.#data[0] as string) : this.#data.join("\n");
    const event = this.#event || "message";
    this.#data = [];
    this.#event = "";
    this.#size = 0;
    // An event without data only sets the id and the retry time.
    if (data === "") return;
    this.delivered += 1;
    this.#sink.event({ event, data });
  }

  #overflow(): void {
    this.#stopped = true;
    this.#buffer.take();
    this.#data = [];
    this.#sink.oversized();
  }
}
