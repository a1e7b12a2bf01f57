// Fetch handler: serves a web `Request` with the Node request handler, and returns the `Response` with a streamed body.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { Readable, Writable } from "node:stream";
import type { HttpRequest, HttpResponse } from "./responses.ts";

/** Rejects when the client aborts the request, or the gateway drops it, before the response begins. */
export function serveFetch(
  request: Request,
  handle: (request: HttpRequest, response: HttpResponse) => void,
): Promise<Response> {
  const incoming = new FetchRequest(request);
  const outgoing = new FetchResponse(incoming, request.signal);
  handle(incoming, outgoing);
  return outgoing.started;
}

/** A web request in the form of Node's IncomingMessage. */
class FetchRequest extends Readable implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  complete: boolean;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request) {
    super();
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.url = `${pathname}${search}`;
    this.headers = { host, ...Object.fromEntries(request.headers) };
    this.complete = request.body === null;
    this.#reader = request.body?.getReader();
  }

  override _read(): void {
    if (this.#reader === undefined) return void this.push(null);
    this.#reader.read().then(
      ({ done, value }) => {
        this.complete = done;
        this.push(value === undefined ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      },
      (error: unknown) => this.destroy(error as Error),
    );
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    // The rest of the body is not wanted. A body that failed already rejects here.
    this.#reader?.cancel().catch(() => {});
    done();
  }
}

/** The bytes of a body that may wait for the client, in addition to the buffer of the writer. */
const BUFFERED_BYTES = 16 * 1024;
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Node's ServerResponse, in so far as the gateway uses it, that becomes a web `Response`. */
class FetchResponse extends Writable implements HttpResponse {
  readonly req: HttpRequest;
  /** Resolves when the status and the headers are known. */
  readonly started: Promise<Response>;
  headersSent = false;
  bytesWritten = 0;
  #status = 200;
  readonly #headers = new Headers();
  readonly #signal: AbortSignal;
  #start: (response: Response) => void = () => {};
  #fail: (error: Error) => void = () => {};
  #isStarted = false;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Continues writing when the client has read enough. */
  #resume: (() => void) | undefined;

  constructor(request: HttpRequest, signal: AbortSignal) {
    super();
    this.req = request;
    this.#signal = signal;
    this.started = new Promise((resolve, reject) => {
      this.#start = resolve;
      this.#fail = reject;
    });
    const abort = (): void => void this.destroy();
    signal.addEventListener("abort", abort, { once: true });
    this.once("close", () => {
      signal.removeEventListener("abort", abort);
      request.destroy();
    });
    if (signal.aborted) abort();
  }

  get socket(): this {
    return this;
  }

  setHeader(name: string, value: string): void {
    this.#headers.set(name, value);
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.#status = status;
    this.headersSent = true;
    // The connection belongs to the program that embeds the gateway.
    for (const [name, value] of Object.entries(headers))
      if (name !== "connection" && value !== undefined) this.#headers.set(name, String(value));
    return this;
  }

  /** Only sockets know `100 Continue`. */
  writeContinue(): void {}

  flushHeaders(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller;
        },
        pull: () => {
          const resume = this.#resume;
          this.#resume = undefined;
          resume?.();
        },
        cancel: () => void this.destroy(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES }),
    );
    this.#start(this.#toResponse(body));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.flushHeaders();
    const written = (): void => {
      this.bytesWritten += chunk.length;
      done();
    };
    this.#body?.enqueue(chunk);
    if ((this.#body?.desiredSize ?? 0) > 0) written();
    else this.#resume = written;
  }

  override _final(done: () => void): void {
    if (this.#isStarted) this.#body?.close();
    else {
      this.#isStarted = true;
      this.#start(this.#toResponse(null));
    }
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.writableFinished) {
      const reason = this.#signal.aborted
        ? (this.#signal.reason as Error)
        : new Error("the connection was closed");
      this.#fail(reason);
      try {
        this.#body?.error(reason);
      } catch {
        // The client has cancelled the body already.
      }
    }
    done(error);
  }

  #toResponse(body: ReadableStream<Uint8Array> | null): Response {
    const init = { status: this.#status, headers: this.#headers };
    return new Response(WITHOUT_BODY.has(this.#status) ? null : body, init);
  }
}
