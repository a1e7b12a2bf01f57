// HTTP+SSE transport of 2024-11-05: one POST per message to the server, one long event stream from it.

import type { Agent } from "undici";
import { parseUrl } from "../../../base/net/urls.ts";
import { PortolanError } from "../../../errors/index.ts";
import { HEADER, isRpcMessage, parseMessages, type UrlEndpoint } from "../../../model/index.ts";
import { isRequest, type OutgoingMessage } from "../outgoing-message.ts";
import {
  neverRan,
  SendQueue,
  type Transport,
  type TransportCounters,
  type TransportEvents,
  type TransportOptions,
} from "../transport.ts";
import { baseHeaders, createAgent } from "./agent.ts";
import { authorizedExchange } from "./authorized-exchange.ts";

export class HttpSseTransport implements Transport {
  readonly name = "sse";
  readonly perRequestStreams = false;
  readonly counters: TransportCounters = { noise: 0 };
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #options: TransportOptions;
  readonly #queue: SendQueue;
  #agent: Agent | undefined;
  #events: TransportEvents | undefined;
  #stream: { abort(): void } | undefined;
  #postUrl: URL | undefined;
  readonly #unanswered = new Set<Promise<void>>();
  #ended = false;

  constructor(endpoint: UrlEndpoint, options: TransportOptions) {
    this.#url = new URL(endpoint.url);
    this.#headers = baseHeaders(this.#url, endpoint.headers);
    this.#options = options;
    this.#queue = new SendQueue(options);
  }

  async open(events: TransportEvents, signal: AbortSignal): Promise<void> {
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
      this.#stream = authorizedExchange(
        this.#options.auth,
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

  send(message: OutgoingMessage): void {
    const { server, maxMessageBytes } = this.#options;
    if (this.#ended || this.#postUrl === undefined) {
      const hint = "The call was not sent; call again.";
      throw neverRan(
        new PortolanError("CONNECTION_LOST", `${server}: the event stream is closed`, { server, hint }),
      );
    }
    const { text: body } = message;
    this.#queue.check(body);
    const accepted = this.#queue.add(body);
    const id = isRequest(message) ? message.id : undefined;
    const sent = new Promise<void>((resolve) => {
      const done = (): void => {
        accepted();
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
      authorizedExchange(this.#options.auth, this.#agent as Agent, request, {
        event: ({ data }) => this.#receive(data),
        json: (value) => {
          done();
          if (isRpcMessage(value)) this.#events?.message(value);
        },
        empty: done,
        ended: done,
        failed: (failure) => {
          // Servers answer the POST with "Accepted" as plain text; any body with a success status is fine.
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

  negotiated(_era: string, revision: string): void {
    this.#headers[HEADER.PROTOCOL_VERSION] = revision;
  }

  async close(): Promise<void> {
    this.#ended = true;
    this.#stream?.abort();
    await this.#agent?.destroy();
  }

  #setPostUrl(data: string): PortolanError | undefined {
    const { server } = this.#options;
    const url = parseUrl(data, this.#url);
    if (url?.origin === this.#url.origin) {
      this.#postUrl = url;
      return undefined;
    }
    // Credentials are sent to the message endpoint, so it must have the same origin.
    const where = url === undefined ? "an invalid URL" : `another origin, ${url.origin}`;
    return new PortolanError("PROTOCOL_ERROR", `${server} announces its message endpoint at ${where}`, {
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
    const message = `${server} did not open an event stream, which the transport sse (HTTP+SSE) needs`;
    return new PortolanError("PROTOCOL_ERROR", message, {
      server,
      hint: "If the server uses Streamable HTTP, set the transport to http. Otherwise check the URL.",
    });
  }
}
