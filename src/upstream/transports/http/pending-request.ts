// One request over Streamable HTTP, from its POST to its response: repeated after 429, resumed when its stream breaks off.

import { retryAfterMs } from "../../../base/time/retry.ts";
import { PortolanError } from "../../../errors/index.ts";
import { HEADER, type RequestId, type RpcMessage } from "../../../model/index.ts";
import type { ExchangeEvents, HttpFailure } from "./exchange.ts";
import { errorFor, isSessionLoss, parseJson, retryDelay, type ProtocolHeaders } from "./protocol.ts";
import { neverRan, type SendQueue } from "../transport.ts";
import type { SseParser } from "./sse-parser.ts";

/** A stream that the server leaves open after the response is closed after this time. */
const LINGER_MS = 1_000;
const MAX_RATE_WAIT_MS = 60_000;
const MAX_START_WAIT_MS = 5_000;
const MAX_RATE_RETRIES = 2;
/** Attempts in a row without a new event. A server may end its stream after every event. */
const MAX_RESUMES = 10;

/** An exchange or a timer that can be stopped. */
export interface Stoppable {
  abort(): void;
}

/** The part of the transport that a pending request uses. */
export interface RequestTransport {
  readonly server: string;
  readonly protocol: ProtocolHeaders;
  readonly queue: SendQueue;
  readonly post: (body: string, headers: Record<string, string>, events: ExchangeEvents) => Stoppable;
  /** Opens a legacy stream with these additional headers. */
  readonly get: (headers: Record<string, string>, events: ExchangeEvents) => Stoppable;
  /** Delivers one message or a batch that arrived for a request. True when the response is among them. */
  readonly deliver: (value: unknown, origin: RequestId) => boolean;
  readonly answer: (message: RpcMessage, id: RequestId) => void;
  readonly fail: (id: RequestId, error: PortolanError) => void;
  /** The request was answered, so that there is nothing left to abort. */
  readonly settled: (id: RequestId) => void;
}

export class PendingRequest {
  readonly #transport: RequestTransport;
  readonly #id: RequestId;
  readonly #isInitialize: boolean;
  readonly #once: boolean;
  readonly #body: string;
  readonly #headers: Record<string, string>;
  #current: Stoppable | undefined;
  #accepted: (() => void) | undefined;

  constructor(
    transport: RequestTransport,
    about: { readonly id: RequestId; readonly isInitialize: boolean; readonly once: boolean },
    body: string,
    headers: Record<string, string>,
  ) {
    this.#transport = transport;
    this.#id = about.id;
    this.#isInitialize = about.isInitialize;
    this.#once = about.once;
    this.#body = body;
    this.#headers = headers;
  }

  abort(): void {
    this.#accepted?.();
    this.#current?.abort();
  }

  send(attempt = 0): void {
    const transport = this.#transport;
    const id = this.#id;
    let stream: SseParser | undefined;
    let answered = false;
    let linger: NodeJS.Timeout | undefined;
    const accepted = transport.queue.add(this.#body);
    this.#accepted = accepted;
    const posted = transport.post(this.#body, this.#headers, {
      started: (received, parser) => {
        accepted();
        stream = parser;
        const session = received[HEADER.SESSION_ID];
        if (typeof session === "string" && this.#isInitialize) transport.protocol.session = session;
      },
      event: ({ data }) => {
        if (!transport.deliver(parseJson(data), id) || answered) return;
        answered = true;
        transport.settled(id);
        linger = setTimeout(() => posted.abort(), LINGER_MS).unref();
      },
      json: (value) => {
        transport.settled(id);
        if (!transport.deliver(value, id)) this.#noAnswer("the response is not a JSON-RPC message");
      },
      empty: () => this.#noAnswer("the server accepted the request, but sent no response"),
      ended: (cause) => {
        clearTimeout(linger);
        if (answered) return;
        if (stream?.lastEventId !== undefined && transport.protocol.era !== "modern") this.#resume(stream, 0);
        else this.#streamEnded(cause);
      },
      failed: (failure) => {
        accepted();
        this.#refused(failure, attempt);
      },
    });
    this.#current = posted;
  }

  #refused(failure: HttpFailure, attempt: number): void {
    const transport = this.#transport;
    const id = this.#id;
    const { status, json } = failure;
    if (this.#headers[HEADER.SESSION_ID] !== undefined && isSessionLoss(failure))
      return this.#sessionLost(failure.error);
    const error = errorFor(json, id);
    // A JSON-RPC error for this request is the server's response, whatever the HTTP status.
    if (error !== undefined && status !== 401) {
      transport.settled(id);
      return transport.answer({ jsonrpc: "2.0", id, error }, id);
    }
    const wait = status === 429 && !this.#once ? retryAfterMs(failure.headers["retry-after"]) : undefined;
    // While connecting, the client gets the error soon instead of waiting.
    const patience = transport.protocol.revision === undefined ? MAX_START_WAIT_MS : MAX_RATE_WAIT_MS;
    if (wait !== undefined && wait <= patience && attempt < MAX_RATE_RETRIES)
      return this.#after(wait, () => this.send(attempt + 1));
    transport.fail(id, failure.neverSent ? neverRan(failure.error) : failure.error);
  }

  /** Resumes a legacy stream after its last event, if its events have ids. */
  #resume(stream: SseParser, attempt: number): void {
    if (attempt >= MAX_RESUMES) return this.#streamEnded(undefined);
    this.#after(retryDelay(stream.retryMs, 0), () => this.#continue(stream, attempt));
  }

  #continue(stream: SseParser, attempt: number): void {
    const transport = this.#transport;
    const id = this.#id;
    let resumed: SseParser | undefined;
    let answered = false;
    const again = (): void => {
      if (answered) return transport.settled(id);
      const at = resumed?.lastEventId;
      if (resumed === undefined || at === undefined) return this.#resume(stream, attempt + 1);
      this.#resume(resumed, at === stream.lastEventId ? attempt + 1 : 0);
    };
    const opened = transport.get(
      { [HEADER.LAST_EVENT_ID]: stream.lastEventId ?? "" },
      {
        started: (_headers, parser) => {
          resumed = parser;
        },
        event: ({ data }) => {
          if (!transport.deliver(parseJson(data), id)) return;
          answered = true;
          transport.settled(id);
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
    const { server } = this.#transport;
    this.#transport.fail(this.#id, new PortolanError("PROTOCOL_ERROR", `${server}: ${what}`, { server }));
  }

  #streamEnded(cause: Error | undefined): void {
    const { server } = this.#transport;
    const message = `${server}: the event stream ended before the response`;
    this.#transport.fail(this.#id, new PortolanError("CONNECTION_LOST", message, { server, cause }));
  }

  #sessionLost(cause: PortolanError): void {
    const { server } = this.#transport;
    const message = `${server} does not know this session any more`;
    this.#transport.fail(
      this.#id,
      new PortolanError("SESSION_LOST", message, { server, cause, data: cause.data }),
    );
  }
}
