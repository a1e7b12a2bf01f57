// The Streamable HTTP wire of both eras: one POST per message, answered by JSON or by an event stream of its own.

import type { Agent } from "undici";
import { PortolanError } from "../../errors/index.ts";
import { type Era, type RequestId, type UrlEndpoint, isRpcMessage } from "../../model/index.ts";
import { headerValue } from "../param-headers.ts";
import type { Outgoing } from "../outgoing.ts";
import type { Wire, WireCounters, WireEvents, WireOptions } from "../wire.ts";
import { exchange, type ExchangeEvents, type HttpFailure } from "./http-exchange.ts";
import {
  errorFor,
  isAnswerTo,
  isSessionLoss,
  NAMED,
  neverRan,
  parseJson,
  retryAfterMs,
  retryDelay,
} from "./http-rules.ts";
import { baseHeaders, createAgent } from "./http-agent.ts";
import { StandingStream } from "./http-standing.ts";
import type { SseParser } from "./sse-parser.ts";

/** A stream that the server leaves open after the answer is of no use to anybody. */
const LINGER_MS = 1_000;
/** Answers and notices on their way to the server; a server that asks faster than it listens is not answered. */
const MAX_UNTAKEN = 10_000;
/** They have connections of their own: requests that wait for these very answers may take all others. */
const TELLING_CONNECTIONS = 32;
const MAX_RATE_WAIT_MS = 60_000;
const MAX_START_WAIT_MS = 5_000;
const MAX_RATE_RETRIES = 2;
const MAX_RESUMES = 10;

/** What is known of a request that was sent. */
interface Sent {
  readonly id: RequestId;
  readonly isInitialize: boolean;
}

/** One request on its way: what to stop when its answer is not wanted any more. */
interface Flight {
  abort(): void;
}

export class HttpWire implements Wire {
  readonly transport = "http";
  readonly perRequestStreams = true;
  readonly counters: WireCounters = { noise: 0 };
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #options: WireOptions;
  readonly #flights = new Map<RequestId, Flight>();
  readonly #unanswered = new Set<Promise<void>>();
  #agent: Agent | undefined;
  #telling: Agent | undefined;
  #events: WireEvents | undefined;
  #revision: string | undefined;
  #era: Era | undefined;
  #session: string | undefined;
  #listening: StandingStream | undefined;
  #queuedBytes = 0;
  #closed = false;

  constructor(endpoint: UrlEndpoint, options: WireOptions) {
    this.#url = new URL(endpoint.url);
    this.#headers = baseHeaders(this.#url, endpoint.headers);
    this.#options = options;
  }

  async open(events: WireEvents): Promise<void> {
    [this.#agent, this.#telling] = await Promise.all([createAgent(), createAgent(TELLING_CONNECTIONS)]);
    this.#events = events;
  }

  send(message: Outgoing, headers?: Readonly<Record<string, string>>): void {
    const { server, maxQueuedBytes } = this.#options;
    if (this.#closed) throw new PortolanError("CONNECTION_CLOSED", "the connection is closed", { server });
    const { text: body } = message;
    if (this.#queuedBytes + body.length > maxQueuedBytes) {
      throw new PortolanError("BUSY", `${server} does not take what it is sent`, { server });
    }
    if (message.id !== undefined && message.method !== undefined) {
      this.#request(
        { id: message.id, isInitialize: message.method === "initialize" },
        body,
        { ...this.#headers, ...this.#protocolHeaders(message), ...headers },
        0,
      );
    } else if (this.#unanswered.size < MAX_UNTAKEN) {
      this.#tell(body, { ...this.#headers, ...this.#protocolHeaders(message) });
    } else {
      this.counters.noise += 1;
    }
  }

  /** Here each message has a connection of its own, and a request must not overtake `initialized`. */
  async flushed(): Promise<void> {
    await Promise.all(this.#unanswered);
  }

  abandon(id: RequestId): void {
    this.#flights.get(id)?.abort();
    this.#flights.delete(id);
  }

  negotiated(era: Era, revision: string): void {
    this.#era = era;
    this.#revision = revision;
  }

  listen(): void {
    if (this.#era !== "legacy" || this.#closed) return;
    this.#listening ??= new StandingStream({
      open: (headers, events) => this.#get(headers, events),
      deliver: (value) => this.#deliverAll(value, undefined),
    });
  }

  stderrTail(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    // The server may free the session now rather than when it expires; nobody waits long for its answer.
    if (this.#session !== undefined) {
      const ended = this.#plain("DELETE", undefined, { ...this.#headers, ...this.#legacyHeaders() });
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
    }
    this.#closed = true;
    this.#listening?.close();
    for (const flight of this.#flights.values()) flight.abort();
    this.#flights.clear();
    await Promise.all([this.#agent?.destroy(), this.#telling?.destroy()]);
  }

  #request(request: Sent, body: string, headers: Record<string, string>, attempt: number): void {
    const { id } = request;
    let stream: SseParser | undefined;
    let answered = false;
    let linger: NodeJS.Timeout | undefined;
    const taken = this.#queue(body);
    const flight = this.#exchange("POST", body, headers, {
      started: (received, parser) => {
        taken();
        stream = parser;
        const session = received["mcp-session-id"];
        if (typeof session === "string" && request.isInitialize) this.#session = session;
      },
      event: ({ data }) => {
        if (!this.#deliverAll(parseJson(data), id) || answered) return;
        answered = true;
        this.#flights.delete(id);
        linger = setTimeout(() => flight.abort(), LINGER_MS).unref();
      },
      json: (value) => {
        this.#flights.delete(id);
        if (!this.#deliverAll(value, id))
          this.#fail(id, this.#noAnswer("the answer is not a JSON-RPC message"));
      },
      empty: () => this.#fail(id, this.#noAnswer("the request was accepted but not answered")),
      ended: (cause) => {
        clearTimeout(linger);
        if (answered) return;
        if (stream?.lastEventId !== undefined && this.#era !== "modern") this.#resume(id, stream, 0);
        else this.#fail(id, this.#streamEnded(cause));
      },
      failed: (failure) => {
        taken();
        this.#refused(request, body, headers, attempt, failure);
      },
    });
    this.#flights.set(id, {
      abort: () => {
        taken();
        flight.abort();
      },
    });
  }

  #refused(
    request: Sent,
    body: string,
    headers: Record<string, string>,
    attempt: number,
    failure: HttpFailure,
  ): void {
    const { id } = request;
    const { status, json } = failure;
    if (headers["mcp-session-id"] !== undefined && isSessionLoss(failure)) {
      return this.#fail(id, this.#sessionLost(failure.error));
    }
    const error = errorFor(json, id);
    // A JSON-RPC error for this very request is the server's answer, whatever the HTTP status.
    if (error !== undefined && status !== 401) {
      this.#flights.delete(id);
      return this.#events?.message({ jsonrpc: "2.0", id, error }, id);
    }
    const wait = status === 429 ? retryAfterMs(failure.headers["retry-after"]) : undefined;
    // Whoever is still connecting is told rather than kept waiting.
    const patience = this.#revision === undefined ? MAX_START_WAIT_MS : MAX_RATE_WAIT_MS;
    if (wait !== undefined && wait <= patience && attempt < MAX_RATE_RETRIES) {
      const timer = setTimeout(() => this.#request(request, body, headers, attempt + 1), wait);
      this.#flights.set(id, { abort: () => clearTimeout(timer) });
      return;
    }
    this.#fail(id, failure.neverSent ? neverRan(failure.error) : failure.error);
  }

  /** A legacy stream that ended early is continued where it stopped, when its events were numbered. */
  #resume(id: RequestId, stream: SseParser, attempt: number): void {
    if (attempt >= MAX_RESUMES) return this.#fail(id, this.#streamEnded(undefined));
    const timer = setTimeout(
      () => {
        let resumed: SseParser | undefined;
        let answered = false;
        const again = (): void => {
          if (answered) this.#flights.delete(id);
          else this.#resume(id, resumed?.lastEventId === undefined ? stream : resumed, attempt + 1);
        };
        const flight = this.#get(
          { "last-event-id": stream.lastEventId ?? "" },
          {
            started: (_headers, parser) => {
              resumed = parser;
            },
            event: ({ data }) => {
              const message = parseJson(data);
              this.#deliver(message, id);
              if (isAnswerTo(message, id)) {
                answered = true;
                this.#flights.delete(id);
                flight.abort();
              }
            },
            ended: again,
            json: again,
            empty: again,
            failed: (failure) =>
              failure.status === undefined ? again() : this.#fail(id, this.#streamEnded(failure.error)),
          },
        );
        this.#flights.set(id, flight);
      },
      retryDelay(stream.retryMs, 0),
    );
    this.#flights.set(id, { abort: () => clearTimeout(timer) });
  }

  #tell(body: string, headers: Record<string, string>): void {
    const taken = this.#queue(body);
    const told = this.#plain("POST", body, headers);
    this.#unanswered.add(told);
    void told.then(() => {
      taken();
      this.#unanswered.delete(told);
    });
  }

  #plain(
    method: "POST" | "DELETE",
    body: string | undefined,
    headers: Record<string, string>,
  ): Promise<void> {
    return new Promise((resolve) => {
      const flight = this.#exchange(
        method,
        body,
        headers,
        {
          // Some servers answer a notification with a stream that never ends.
          started: (_headers, stream) => {
            if (stream === undefined) return;
            flight.abort();
            resolve();
          },
          event: () => {},
          json: () => resolve(),
          empty: resolve,
          ended: () => resolve(),
          failed: () => resolve(),
        },
        this.#telling,
      );
    });
  }

  /** A legacy stream that is opened by itself, not by a request. */
  #get(headers: Record<string, string>, events: ExchangeEvents): Flight {
    const usual = { ...this.#headers, ...this.#legacyHeaders(), accept: "text/event-stream" };
    return this.#exchange("GET", undefined, { ...usual, ...headers }, events);
  }

  #exchange(
    method: "GET" | "POST" | "DELETE",
    body: string | undefined,
    headers: Record<string, string>,
    events: ExchangeEvents,
    agent: Agent | undefined = this.#agent,
  ): Flight {
    const { server, maxMessageBytes } = this.#options;
    return exchange(
      agent as Agent,
      { server, url: this.#url, method, headers, body, maxMessageBytes },
      events,
    );
  }

  /** Counts bytes that the server has not taken yet, until the returned function is called. */
  #queue(body: string): () => void {
    this.#queuedBytes += body.length;
    let counted = true;
    return () => {
      if (counted) this.#queuedBytes -= body.length;
      counted = false;
    };
  }

  #protocolHeaders({ method, params, revision }: Outgoing): Record<string, string> {
    if (revision === undefined || method === undefined) return this.#legacyHeaders();
    const headers: Record<string, string> = { "mcp-protocol-version": revision, "mcp-method": method };
    const name = NAMED.test(method) ? (params?.name ?? params?.uri ?? params?.taskId) : undefined;
    if (typeof name === "string") headers["mcp-name"] = headerValue(name);
    return headers;
  }

  #legacyHeaders(): Record<string, string> {
    return {
      ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
      ...(this.#revision === undefined ? {} : { "mcp-protocol-version": this.#revision }),
    };
  }

  #deliverAll(value: unknown, origin: RequestId | undefined): boolean {
    if (!Array.isArray(value)) return this.#deliver(value, origin);
    return value.map((item) => this.#deliver(item, origin)).some(Boolean);
  }

  /** True when the message answers the request on whose stream it came. */
  #deliver(value: unknown, origin: RequestId | undefined): boolean {
    if (!isRpcMessage(value)) {
      this.counters.noise += 1;
      return false;
    }
    this.#events?.message(value, origin);
    return origin !== undefined && isAnswerTo(value, origin);
  }

  #fail(id: RequestId, error: PortolanError): void {
    this.#flights.delete(id);
    this.#events?.failed(id, error);
  }

  #noAnswer(what: string): PortolanError {
    return new PortolanError("PROTOCOL_ERROR", `${this.#options.server}: ${what}`, {
      server: this.#options.server,
    });
  }

  #streamEnded(cause: Error | undefined): PortolanError {
    const { server } = this.#options;
    return new PortolanError("CONNECTION_LOST", `${server}: the stream ended before the response`, {
      server,
      cause,
    });
  }

  #sessionLost(cause: PortolanError): PortolanError {
    const { server } = this.#options;
    return new PortolanError("SESSION_LOST", `${server} does not know this session any more`, {
      server,
      cause,
      data: cause.data,
    });
  }
}
