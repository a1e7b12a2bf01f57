// The HTTP+SSE wire of 2024-11-05: one standing event stream back, one POST per message forth.

import type { Agent } from "undici";
import { PortolanError } from "../../../errors/index.ts";
import { type UrlEndpoint, isRpcMessage, parseMessages } from "../../../model/index.ts";
import { isRequest, type Outgoing } from "../outgoing-message.ts";
import type { Wire, WireCounters, WireEvents, WireOptions } from "../transport.ts";
import { baseHeaders, createAgent } from "./agent.ts";
import { exchange } from "./exchange.ts";
import { QueuedBytes } from "../send-queue.ts";

export class SseWire implements Wire {
  readonly transport = "sse";
  readonly perRequestStreams = false;
  readonly counters: WireCounters = { noise: 0 };
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #options: WireOptions;
  readonly #queued: QueuedBytes;
  #agent: Agent | undefined;
  #events: WireEvents | undefined;
  #stream: { abort(): void } | undefined;
  #postUrl: URL | undefined;
  readonly #unanswered = new Set<Promise<void>>();
  #ended = false;

  constructor(endpoint: UrlEndpoint, options: WireOptions) {
    this.#url = new URL(endpoint.url);
    this.#headers = baseHeaders(this.#url, endpoint.headers);
    this.#options = options;
    this.#queued = new QueuedBytes(options);
  }

  async open(events: WireEvents, signal: AbortSignal): Promise<void> {
    const agent = await createAgent();
    this.#agent = agent;
    this.#events = events;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const { server, maxMessageBytes } = this.#options;
      const request = {
        server,
        url: this.#url,
        method: "GET" as const,
        headers: { ...this.#headers, accept: "text/event-stream" },
      };
      const over = (error: PortolanError): void => {
        reject(error);
        this.#end(error);
      };
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      this.#stream = exchange(
        agent,
        { ...request, maxMessageBytes },
        {
          event: ({ event, data }) => {
            if (event !== "endpoint") return this.#receive(data);
            const problem = this.#setPostUrl(data);
            if (problem === undefined) resolve();
            else over(problem);
          },
          json: () => over(this.#notSse()),
          empty: () => over(this.#notSse()),
          ended: (cause) =>
            over(
              new PortolanError("CONNECTION_LOST", `${server}: the event stream ended`, { server, cause }),
            ),
          failed: (failure) => over(failure.error),
        },
      );
    });
  }

  send(message: Outgoing): void {
    const { server, maxMessageBytes } = this.#options;
    if (this.#ended || this.#postUrl === undefined) {
      throw new PortolanError("CONNECTION_LOST", `${server}: the event stream is gone`, { server });
    }
    const { text: body } = message;
    this.#queued.check(body);
    const taken = this.#queued.add(body);
    const id = isRequest(message) ? message.id : undefined;
    const sent = new Promise<void>((resolve) => {
      const done = (): void => {
        taken();
        resolve();
      };
      const request = {
        server,
        url: this.#postUrl as URL,
        method: "POST" as const,
        headers: this.#headers,
        body,
        maxMessageBytes,
      };
      exchange(this.#agent as Agent, request, {
        event: ({ data }) => this.#receive(data),
        json: (value) => {
          done();
          if (isRpcMessage(value)) this.#events?.message(value);
        },
        empty: done,
        ended: done,
        failed: (failure) => {
          // "Accepted" is a plain word here; any body with a success status will do.
          done();
          const accepted =
            failure.status !== undefined && failure.status < 300 && failure.error.code === "PROTOCOL_ERROR";
          if (!accepted && id !== undefined) this.#events?.failed(id, failure.error);
        },
      });
    });
    this.#unanswered.add(sent);
    void sent.then(() => this.#unanswered.delete(sent));
  }

  async flushed(): Promise<void> {
    await Promise.all(this.#unanswered);
  }

  abandon(): void {}
  negotiated(_era: string, revision: string): void {
    this.#headers["mcp-protocol-version"] = revision;
  }
  listen(): void {}

  stderrTail(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#ended = true;
    this.#stream?.abort();
    await this.#agent?.destroy();
  }

  #setPostUrl(data: string): PortolanError | undefined {
    const { server } = this.#options;
    const url = URL.canParse(data, this.#url.href) ? new URL(data, this.#url.href) : undefined;
    if (url?.origin === this.#url.origin) {
      this.#postUrl = url;
      return undefined;
    }
    // Credentials go to the endpoint, so a server may not send us elsewhere.
    const where = url === undefined ? "an address that is none" : `another origin, ${url.origin}`;
    return new PortolanError("PROTOCOL_ERROR", `${server} points its message endpoint at ${where}`, {
      server,
    });
  }

  #receive(data: string): void {
    for (const value of parseMessages(data)) {
      if (isRpcMessage(value)) this.#events?.message(value);
      else this.counters.noise += 1;
    }
  }

  #end(error: PortolanError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream?.abort();
    void this.#agent?.destroy();
    this.#events?.closed(error);
  }

  #notSse(): PortolanError {
    const { server } = this.#options;
    return new PortolanError("PROTOCOL_ERROR", `${server} did not answer with an event stream`, { server });
  }
}
