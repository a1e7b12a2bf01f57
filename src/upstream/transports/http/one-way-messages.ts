// Messages that nobody waits for an answer to: notifications, answers to the server's own questions, and the end of a session.

import type { Agent } from "undici";
import { exchange, type ExchangeRequest } from "./exchange.ts";
import type { QueuedBytes } from "../send-queue.ts";

/** Messages on their way to the server; a server that asks faster than it listens is not answered. */
const MAX_UNTAKEN = 10_000;
/** They have connections of their own: requests that wait for these very answers may take all others. */
export const TELLING_CONNECTIONS = 32;

export class Telling {
  readonly #agent: Agent;
  readonly #to: Pick<ExchangeRequest, "server" | "url" | "maxMessageBytes">;
  readonly #queued: QueuedBytes;
  readonly #untaken = new Set<Promise<void>>();

  constructor(
    agent: Agent,
    to: Pick<ExchangeRequest, "server" | "url" | "maxMessageBytes">,
    queued: QueuedBytes,
  ) {
    this.#agent = agent;
    this.#to = to;
    this.#queued = queued;
  }

  /** False when there are too many already. */
  tell(body: string, headers: Record<string, string>): boolean {
    if (this.#untaken.size >= MAX_UNTAKEN) return false;
    const taken = this.#queued.add(body);
    const told = this.send("POST", body, headers);
    this.#untaken.add(told);
    void told.then(() => {
      taken();
      this.#untaken.delete(told);
    });
    return true;
  }

  /** Resolves when the server has taken all that it was told. */
  async flushed(): Promise<void> {
    await Promise.all(this.#untaken);
  }

  /** Resolves when it is over, however it ended. */
  send(method: "POST" | "DELETE", body: string | undefined, headers: Record<string, string>): Promise<void> {
    return new Promise((resolve) => {
      const sent = exchange(
        this.#agent,
        { ...this.#to, method, headers, body },
        {
          // Some servers answer a notification with a stream that never ends.
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
