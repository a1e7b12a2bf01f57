// Event writer: server-sent events to one client. It drops a client that does not read.

import type { HttpResponse } from "./responses.ts";

/** Most bytes that may wait for a client, and the longest time in which it may read nothing. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const MAX_STALL_MS = 30_000;
/** Proxies and idle limits end a stream without any bytes. */
const KEEP_ALIVE_MS = 15_000;

const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export class EventWriter {
  readonly #response: HttpResponse;
  readonly #maxWaitingBytes: number;
  readonly #keepAlive: NodeJS.Timeout;
  #stalled: NodeJS.Timeout | undefined;

  constructor(
    response: HttpResponse,
    headers: Readonly<Record<string, string>> = {},
    maxWaitingBytes: number = MAX_WAITING_BYTES,
  ) {
    this.#response = response;
    this.#maxWaitingBytes = maxWaitingBytes;
    response.writeHead(200, { ...STREAM_HEADERS, ...headers });
    response.flushHeaders();
    response.on("drain", () => {
      clearTimeout(this.#stalled);
      this.#stalled = undefined;
    });
    this.#keepAlive = setInterval(() => this.#put(":\n\n"), KEEP_ALIVE_MS).unref();
    response.on("close", () => this.#clearTimers());
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** JSON contains no line breaks, so one `data:` line carries it. */
  event(text: string, id?: string, name?: string): void {
    const head = `${name === undefined ? "" : `event: ${name}\n`}${id === undefined ? "" : `id: ${id}\n`}`;
    this.#put(`${head}data: ${text}\n\n`);
  }

  end(): void {
    this.#clearTimers();
    if (!this.closed) this.#response.end();
  }

  #clearTimers(): void {
    clearTimeout(this.#stalled);
    clearInterval(this.#keepAlive);
  }

  #put(text: string): void {
    const response = this.#response;
    if (this.closed) return;
    if (response.write(text)) return;
    if (response.writableLength > this.#maxWaitingBytes) {
      response.destroy();
      return;
    }
    this.#stalled ??= setTimeout(() => response.destroy(), MAX_STALL_MS).unref();
  }
}

/** Ends the response, and drops the connection if the client stops reading it. */
export function endOrDrop(response: HttpResponse, text: string): void {
  response.end(text);
  if (response.writableLength < 64 * 1024) return;
  let before = response.socket?.bytesWritten ?? 0;
  const watch = setInterval(() => {
    const now = response.socket?.bytesWritten ?? 0;
    if (now === before) response.destroy();
    before = now;
  }, MAX_STALL_MS).unref();
  response.on("close", () => clearInterval(watch));
}
