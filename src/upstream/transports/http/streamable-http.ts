// The Streamable HTTP wire of both eras: one POST per message, answered by JSON or by an event stream of its own.

import type { Agent } from "undici";
import { PortolanError } from "../../../errors/index.ts";
import { type Era, type RequestId, type UrlEndpoint, isRpcMessage } from "../../../model/index.ts";
import type { Outgoing } from "../outgoing-message.ts";
import type { Wire, WireCounters, WireEvents, WireOptions } from "../transport.ts";
import { baseHeaders, createAgent } from "./agent.ts";
import { exchange, type ExchangeEvents } from "./exchange.ts";
import { Flight, type FlightWire, type Stoppable } from "./pending-request.ts";
import { ProtocolHeaders } from "./headers.ts";
import { isAnswerTo } from "./rules.ts";
import { StandingStream } from "./notification-stream.ts";
import { Telling, TELLING_CONNECTIONS } from "./one-way-messages.ts";
import { QueuedBytes } from "../send-queue.ts";

/** Nobody waits longer for a server to take note that a session is over. */
const END_MS = 1_000;

export class HttpWire implements Wire {
  readonly transport = "http";
  readonly perRequestStreams = true;
  readonly counters: WireCounters = { noise: 0 };
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #options: WireOptions;
  readonly #protocol = new ProtocolHeaders();
  readonly #queued: QueuedBytes;
  readonly #flights = new Map<RequestId, Flight>();
  readonly #flying: FlightWire;
  #agent: Agent | undefined;
  #telling: Telling | undefined;
  #events: WireEvents | undefined;
  #listening: StandingStream | undefined;
  #closed = false;

  constructor(endpoint: UrlEndpoint, options: WireOptions) {
    this.#url = new URL(endpoint.url);
    this.#headers = baseHeaders(this.#url, endpoint.headers);
    this.#options = options;
    this.#queued = new QueuedBytes(options);
    this.#flying = {
      server: options.server,
      protocol: this.#protocol,
      queued: this.#queued,
      post: (body, headers, events) => this.#exchange("POST", body, headers, events),
      get: (headers, events) => this.#get(headers, events),
      deliver: (value, origin) => this.#deliverAll(value, origin),
      answer: (message, id) => this.#events?.message(message, id),
      fail: (id, error) => {
        this.#flights.delete(id);
        this.#events?.failed(id, error);
      },
      landed: (id) => this.#flights.delete(id),
    };
  }

  async open(events: WireEvents): Promise<void> {
    const { server, maxMessageBytes } = this.#options;
    const [agent, telling] = await Promise.all([createAgent(), createAgent(TELLING_CONNECTIONS)]);
    this.#agent = agent;
    this.#telling = new Telling(telling, { server, url: this.#url, maxMessageBytes }, this.#queued);
    this.#events = events;
  }

  send(message: Outgoing, headers?: Readonly<Record<string, string>>): void {
    const { server } = this.#options;
    if (this.#closed) throw new PortolanError("CONNECTION_CLOSED", "the connection is closed", { server });
    const { text: body, id, method, once = false } = message;
    this.#queued.check(body);
    const usual = { ...this.#headers, ...this.#protocol.of(message), ...headers };
    if (id !== undefined && method !== undefined) {
      const about = { id, isInitialize: method === "initialize", once };
      const flight = new Flight(this.#flying, about, body, usual);
      this.#flights.set(id, flight);
      flight.send();
    } else if (this.#telling?.tell(body, usual) !== true) {
      this.counters.noise += 1;
    }
  }

  /** Here each message has a connection of its own, and a request must not overtake `initialized`. */
  async flushed(): Promise<void> {
    await this.#telling?.flushed();
  }

  abandon(id: RequestId): void {
    this.#flights.get(id)?.abort();
    this.#flights.delete(id);
  }

  negotiated(era: Era, revision: string): void {
    this.#protocol.era = era;
    this.#protocol.revision = revision;
  }

  listen(): void {
    if (this.#protocol.era !== "legacy" || this.#closed) return;
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
    // The server may free the session now rather than when it expires. A cancellation must not arrive after that.
    if (this.#protocol.session !== undefined) {
      const headers = { ...this.#headers, ...this.#protocol.ofSession() };
      const ended = this.flushed().then(() => this.#telling?.send("DELETE", undefined, headers));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, END_MS).unref())]);
    }
    this.#closed = true;
    this.#listening?.close();
    for (const flight of this.#flights.values()) flight.abort();
    this.#flights.clear();
    await Promise.all([this.#agent?.destroy(), this.#telling?.close()]);
  }

  /** A legacy stream that is opened by itself, not by a request. */
  #get(headers: Record<string, string>, events: ExchangeEvents): Stoppable {
    const usual = { ...this.#headers, ...this.#protocol.ofSession(), accept: "text/event-stream" };
    return this.#exchange("GET", undefined, { ...usual, ...headers }, events);
  }

  #exchange(
    method: "GET" | "POST",
    body: string | undefined,
    headers: Record<string, string>,
    events: ExchangeEvents,
  ): Stoppable {
    const { server, maxMessageBytes } = this.#options;
    return exchange(
      this.#agent as Agent,
      { server, url: this.#url, method, headers, body, maxMessageBytes },
      events,
    );
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
}
