// Streamable HTTP transport of both eras: one POST per message, answered with JSON or an event stream.

import type { Agent } from "undici";
import { InFlightMap } from "../../../base/collections/in-flight-map.ts";
import { merge } from "../../../base/collections/merge.ts";
import { PortolanError } from "../../../errors/index.ts";
import { type Era, type RequestId, type UrlEndpoint, isRpcMessage } from "../../../model/index.ts";
import type { OutgoingMessage } from "../outgoing-message.ts";
import {
  SendQueue,
  type Transport,
  type TransportCounters,
  type TransportEvents,
  type TransportOptions,
} from "../transport.ts";
import { baseHeaders, createAgent } from "./agent.ts";
import { authorizedExchange } from "./authorized-exchange.ts";
import type { ExchangeEvents } from "./exchange.ts";
import { PendingRequest, type RequestTransport, type Stoppable } from "./pending-request.ts";
import { ProtocolHeaders, isAnswerTo } from "./protocol.ts";
import { NotificationStream } from "./notification-stream.ts";
import { OneWayMessages, ONE_WAY_CONNECTIONS } from "./one-way-messages.ts";

/** How long closing waits for the server's response to the DELETE of its session. */
const END_MS = 1_000;

export class StreamableHttpTransport implements Transport {
  readonly name = "http";
  readonly perRequestStreams = true;
  readonly counters: TransportCounters = { noise: 0 };
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #options: TransportOptions;
  readonly #protocol = new ProtocolHeaders();
  readonly #queue: SendQueue;
  readonly #requests = new InFlightMap<RequestId, PendingRequest>();
  readonly #requestTransport: RequestTransport;
  #agent: Agent | undefined;
  #oneWay: OneWayMessages | undefined;
  #events: TransportEvents | undefined;
  #notifications: NotificationStream | undefined;
  #closed = false;

  constructor(endpoint: UrlEndpoint, options: TransportOptions) {
    this.#url = new URL(endpoint.url);
    this.#headers = baseHeaders(this.#url, endpoint.headers);
    this.#options = options;
    this.#queue = new SendQueue(options);
    this.#requestTransport = {
      server: options.server,
      protocol: this.#protocol,
      queue: this.#queue,
      post: (body, headers, events) => this.#exchange("POST", body, headers, events),
      get: (headers, events) => this.#get(headers, events),
      deliver: (value, origin) => this.#deliverAll(value, origin),
      answer: (message, id) => this.#events?.message(message, id),
      fail: (id, error) => {
        this.#requests.take(id);
        this.#events?.failed(id, error);
      },
      settled: (id) => this.#requests.take(id),
    };
  }

  async open(events: TransportEvents): Promise<void> {
    const { server, maxMessageBytes, auth } = this.#options;
    const [agent, oneWay] = await Promise.all([createAgent(), createAgent(ONE_WAY_CONNECTIONS)]);
    this.#agent = agent;
    this.#oneWay = new OneWayMessages(oneWay, { server, url: this.#url, maxMessageBytes, auth }, this.#queue);
    this.#events = events;
  }

  send(message: OutgoingMessage, headers?: Readonly<Record<string, string>>): void {
    const { server } = this.#options;
    if (this.#closed)
      throw new PortolanError("CONNECTION_CLOSED", `the connection to ${server} is closed`, { server });
    const { text: body, id, method, once = false } = message;
    this.#queue.check(body);
    const usual = merge(this.#headers, this.#protocol.of(message), headers);
    if (id !== undefined && method !== undefined) {
      const about = { id, isInitialize: method === "initialize", once };
      const request = new PendingRequest(this.#requestTransport, about, body, usual);
      this.#requests.set(id, request);
      request.send();
    } else if (this.#oneWay?.post(body, usual) !== true) {
      this.counters.noise += 1;
    }
  }

  /** Each message is its own HTTP request, so a request could overtake the `initialized` notification. */
  async flushed(): Promise<void> {
    await this.#oneWay?.flushed();
  }

  abandon(id: RequestId): void {
    this.#requests.take(id)?.abort();
  }

  negotiated(era: Era, revision: string): void {
    this.#protocol.era = era;
    this.#protocol.revision = revision;
  }

  listen(): void {
    if (this.#protocol.era !== "legacy" || this.#closed) return;
    this.#notifications ??= new NotificationStream({
      open: (headers, events) => this.#get(headers, events),
      deliver: (value) => this.#deliverAll(value, undefined),
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    // The server can free the session now instead of when it expires. Cancellations must arrive before that.
    if (this.#protocol.session !== undefined) {
      const headers = { ...this.#headers, ...this.#protocol.ofSession() };
      const ended = this.flushed().then(() => this.#oneWay?.send("DELETE", undefined, headers));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, END_MS).unref())]);
    }
    this.#closed = true;
    this.#notifications?.close();
    for (const id of this.#requests.keys()) this.abandon(id);
    await Promise.all([this.#agent?.destroy(), this.#oneWay?.close()]);
  }

  /** Opens a legacy stream that belongs to no POST. */
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
    return authorizedExchange(
      this.#options.auth,
      this.#agent as Agent,
      { server, url: this.#url, method, headers, body, maxMessageBytes },
      events,
    );
  }

  #deliverAll(value: unknown, origin: RequestId | undefined): boolean {
    if (!Array.isArray(value)) return this.#deliver(value, origin);
    return value.map((item) => this.#deliver(item, origin)).some(Boolean);
  }

  /** True when the message is the response to the request whose stream carried it. */
  #deliver(value: unknown, origin: RequestId | undefined): boolean {
    if (!isRpcMessage(value)) {
      this.counters.noise += 1;
      return false;
    }
    this.#events?.message(value, origin);
    return origin !== undefined && isAnswerTo(value, origin);
  }
}
