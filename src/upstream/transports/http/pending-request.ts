// One request over Streamable HTTP, from its POST to its answer: sent again when the server has too much to do, continued when its
// stream breaks off.

import { PortolanError } from "../../../errors/index.ts";
import type { RequestId, RpcMessage } from "../../../model/index.ts";
import type { ExchangeEvents, HttpFailure } from "./exchange.ts";
import type { ProtocolHeaders } from "./headers.ts";
import { neverRan } from "../never-ran.ts";
import { errorFor, isSessionLoss, parseJson, retryAfterMs, retryDelay } from "./rules.ts";
import type { QueuedBytes } from "../send-queue.ts";
import type { SseParser } from "./sse-parser.ts";

/** A stream that the server leaves open after the answer is of no use to anybody. */
const LINGER_MS = 1_000;
const MAX_RATE_WAIT_MS = 60_000;
const MAX_START_WAIT_MS = 5_000;
const MAX_RATE_RETRIES = 2;
/** In a row, without anything new. A server may well end a stream after every piece of news. */
const MAX_RESUMES = 10;

/** Something under way that can be stopped. */
export interface Stoppable {
  abort(): void;
}

/** What a request needs of the wire that it is sent on. */
export interface FlightWire {
  readonly server: string;
  readonly protocol: ProtocolHeaders;
  readonly queued: QueuedBytes;
  readonly post: (body: string, headers: Record<string, string>, events: ExchangeEvents) => Stoppable;
  /** Opens a legacy stream, with these headers beside the usual ones. */
  readonly get: (headers: Record<string, string>, events: ExchangeEvents) => Stoppable;
  /** Passes on what came for a request, one message or several. True when the answer is among it. */
  readonly deliver: (value: unknown, origin: RequestId) => boolean;
  readonly answer: (message: RpcMessage, id: RequestId) => void;
  readonly fail: (id: RequestId, error: PortolanError) => void;
  /** There is nothing to be stopped any more. */
  readonly landed: (id: RequestId) => void;
}

export class Flight {
  readonly #wire: FlightWire;
  readonly #id: RequestId;
  readonly #isInitialize: boolean;
  readonly #once: boolean;
  readonly #body: string;
  readonly #headers: Record<string, string>;
  #current: Stoppable | undefined;
  #taken: (() => void) | undefined;

  constructor(
    wire: FlightWire,
    about: { readonly id: RequestId; readonly isInitialize: boolean; readonly once: boolean },
    body: string,
    headers: Record<string, string>,
  ) {
    this.#wire = wire;
    this.#id = about.id;
    this.#isInitialize = about.isInitialize;
    this.#once = about.once;
    this.#body = body;
    this.#headers = headers;
  }

  abort(): void {
    this.#taken?.();
    this.#current?.abort();
  }

  send(attempt = 0): void {
    const wire = this.#wire;
    const id = this.#id;
    let stream: SseParser | undefined;
    let answered = false;
    let linger: NodeJS.Timeout | undefined;
    const taken = wire.queued.add(this.#body);
    this.#taken = taken;
    const posted = wire.post(this.#body, this.#headers, {
      started: (received, parser) => {
        taken();
        stream = parser;
        const session = received["mcp-session-id"];
        if (typeof session === "string" && this.#isInitialize) wire.protocol.session = session;
      },
      event: ({ data }) => {
        if (!wire.deliver(parseJson(data), id) || answered) return;
        answered = true;
        wire.landed(id);
        linger = setTimeout(() => posted.abort(), LINGER_MS).unref();
      },
      json: (value) => {
        wire.landed(id);
        if (!wire.deliver(value, id)) this.#noAnswer("the answer is not a JSON-RPC message");
      },
      empty: () => this.#noAnswer("the request was accepted but not answered"),
      ended: (cause) => {
        clearTimeout(linger);
        if (answered) return;
        if (stream?.lastEventId !== undefined && wire.protocol.era !== "modern") this.#resume(stream, 0);
        else this.#streamEnded(cause);
      },
      failed: (failure) => {
        taken();
        this.#refused(failure, attempt);
      },
    });
    this.#current = posted;
  }

  #refused(failure: HttpFailure, attempt: number): void {
    const wire = this.#wire;
    const id = this.#id;
    const { status, json } = failure;
    if (this.#headers["mcp-session-id"] !== undefined && isSessionLoss(failure))
      return this.#sessionLost(failure.error);
    const error = errorFor(json, id);
    // A JSON-RPC error for this very request is the server's answer, whatever the HTTP status.
    if (error !== undefined && status !== 401) {
      wire.landed(id);
      return wire.answer({ jsonrpc: "2.0", id, error }, id);
    }
    const wait = status === 429 && !this.#once ? retryAfterMs(failure.headers["retry-after"]) : undefined;
    // Whoever is still connecting is told rather than kept waiting.
    const patience = wire.protocol.revision === undefined ? MAX_START_WAIT_MS : MAX_RATE_WAIT_MS;
    if (wait !== undefined && wait <= patience && attempt < MAX_RATE_RETRIES)
      return this.#after(wait, () => this.send(attempt + 1));
    wire.fail(id, failure.neverSent ? neverRan(failure.error) : failure.error);
  }

  /** A legacy stream that ended early is continued where it stopped, when its events were numbered. */
  #resume(stream: SseParser, attempt: number): void {
    if (attempt >= MAX_RESUMES) return this.#streamEnded(undefined);
    this.#after(retryDelay(stream.retryMs, 0), () => this.#continue(stream, attempt));
  }

  #continue(stream: SseParser, attempt: number): void {
    const wire = this.#wire;
    const id = this.#id;
    let resumed: SseParser | undefined;
    let answered = false;
    const again = (): void => {
      if (answered) return wire.landed(id);
      const at = resumed?.lastEventId;
      if (resumed === undefined || at === undefined) return this.#resume(stream, attempt + 1);
      this.#resume(resumed, at === stream.lastEventId ? attempt + 1 : 0);
    };
    const opened = wire.get(
      { "last-event-id": stream.lastEventId ?? "" },
      {
        started: (_headers, parser) => {
          resumed = parser;
        },
        event: ({ data }) => {
          if (!wire.deliver(parseJson(data), id)) return;
          answered = true;
          wire.landed(id);
          opened.abort();
        },
        ended: again,
        json: again,
        empty: again,
        failed: (failure) => (failure.status === undefined ? again() : this.#streamEnded(failure.error)),
      },
    );
    this.#current = opened;
  }

  #after(ms: number, next: () => void): void {
    const timer = setTimeout(next, ms);
    this.#current = { abort: () => clearTimeout(timer) };
  }

  #noAnswer(what: string): void {
    const { server } = this.#wire;
    this.#wire.fail(this.#id, new PortolanError("PROTOCOL_ERROR", `${server}: ${what}`, { server }));
  }

  #streamEnded(cause: Error | undefined): void {
    const { server } = this.#wire;
    const message = `${server}: the stream ended before the response`;
    this.#wire.fail(this.#id, new PortolanError("CONNECTION_LOST", message, { server, cause }));
  }

  #sessionLost(cause: PortolanError): void {
    const { server } = this.#wire;
    const message = `${server} does not know this session any more`;
    this.#wire.fail(
      this.#id,
      new PortolanError("SESSION_LOST", message, { server, cause, data: cause.data }),
    );
  }
}
