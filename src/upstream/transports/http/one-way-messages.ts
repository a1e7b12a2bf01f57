// One-way HTTP messages, which get no response: notifications, responses to server requests, and the end of a session.

import type { Agent } from "undici";
import type { RequestAuth } from "../../../oauth/index.ts";
import { authorizedExchange } from "./authorized-exchange.ts";
import type { ExchangeRequest } from "./exchange.ts";
import type { SendQueue } from "../transport.ts";

/** Messages in flight. Further ones are dropped, so that a server cannot make the client queue without limit. */
const MAX_IN_FLIGHT = 10_000;
/** They have their own connections, because the requests that wait for these messages may occupy all others. */
export const ONE_WAY_CONNECTIONS = 32;

interface Receiver extends Pick<ExchangeRequest, "server" | "url" | "maxMessageBytes"> {
  readonly auth: RequestAuth | undefined;
}

export class OneWayMessages {
  readonly #agent: Agent;
  readonly #to: Receiver;
  readonly #queue: SendQueue;
  readonly #inFlight = new Set<Promise<void>>();

  constructor(agent: Agent, to: Receiver, queue: SendQueue) {
    this.#agent = agent;
    this.#to = to;
    this.#queue = queue;
  }

  /** False when too many messages are in flight. */
  post(body: string, headers: Record<string, string>): boolean {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return false;
    const accepted = this.#queue.add(body);
    const sent = this.send("POST", body, headers);
    this.#inFlight.add(sent);
    void sent.then(() => {
      accepted();
      this.#inFlight.delete(sent);
    });
    return true;
  }

  /** Resolves when the server has accepted all messages. */
  async flushed(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /** Resolves when the exchange ended, with or without success. */
  send(method: "POST" | "DELETE", body: string | undefined, headers: Record<string, string>): Promise<void> {
    return new Promise((resolve) => {
      const { auth, ...to } = this.#to;
      const sent = authorizedExchange(
        auth,
        this.#agent,
        { ...to, method, headers, body },
        {
          // Some servers answer a notification with a stream that does not end.
          started: (_headers, stream) => {
            if (stream === undefined) return;
            sent.abort();
            resolve();
          },
          event: () => {},
          json: () => resolve(),
          empty: resolve,
          ended: () => resolve(),
          failed: () => resolve(),
        },
      );
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
