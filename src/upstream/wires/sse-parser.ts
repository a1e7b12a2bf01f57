// Server-sent events from a byte stream, as the HTML standard describes them, with a limit on each event.

import { StringDecoder } from "node:string_decoder";

export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

export interface SseSink {
  event(event: SseEvent): void;
  /** An event grew past the limit; nothing more is parsed. */
  oversized(): void;
}

export class SseParser {
  /** The id that a resumed stream continues after. */
  lastEventId: string | undefined;
  /** The reconnection delay that the server asks for. */
  retryMs: number | undefined;
  readonly #sink: SseSink;
  readonly #maxBytes: number;
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #started = false;
  #endedWithCr = false;
  #event = "";
  #data: string | undefined;
  #size = 0;
  #stopped = false;

  constructor(maxBytes: number, sink: SseSink) {
    this.#maxBytes = maxBytes;
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    if (this.#stopped) return;
    let text = this.#decoder.write(chunk);
    if (text === "") return;
    if (!this.#started) {
      this.#started = true;
      if (text.startsWith("\uFEFF")) text = text.slice(1);
    }
    if (this.#endedWithCr && text.startsWith("\n")) text = text.slice(1);
    this.#endedWithCr = text.endsWith("\r");
    if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
    this.#text = this.#text === "" ? text : this.#text + text;
    this.#lines();
    if (!this.#stopped && this.#text.length + this.#size > this.#maxBytes) this.#overflow();
  }

  #lines(): void {
    let start = 0;
    for (;;) {
      const end = this.#text.indexOf("\n", start);
      if (end === -1 || this.#stopped) break;
      if (end === start) this.#dispatch();
      else this.#line(this.#text.slice(start, end));
      start = end + 1;
    }
    this.#text = this.#text.slice(start);
  }

  #line(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      this.#size += value.length;
      if (this.#size > this.#maxBytes) this.#overflow();
    } else if (field === "event") {
      this.#event = value;
    } else if (field === "id") {
      if (!value.includes("\0")) this.lastEventId = value;
    } else if (field === "retry" && /^\d+$/.test(value)) {
      this.retryMs = Number(value);
    }
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event || "message";
    this.#data = undefined;
    this.#event = "";
    this.#size = 0;
    // An event without data only primes the id and the retry time.
    if (data !== undefined && data !== "") this.#sink.event({ event, data });
  }

  #overflow(): void {
    this.#stopped = true;
    this.#text = "";
    this.#data = undefined;
    this.#sink.oversized();
  }
}
