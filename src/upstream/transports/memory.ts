// In-process transport: the server is an object of this program.

import type { RpcMessage } from "../../model/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { OutgoingMessage } from "./outgoing-message.ts";
import type { Transport, TransportCounters, TransportEvents } from "./transport.ts";

/** The server's side: receives the client's messages, and may send at any time. */
export interface MemoryServer {
  receive(message: RpcMessage, send: (message: RpcMessage) => void): void;
  close?(): void | Promise<void>;
}

export class MemoryTransport implements Transport {
  readonly name = "memory";
  readonly perRequestStreams = false;
  readonly counters: TransportCounters = { noise: 0 };
  readonly #server: MemoryServer;
  #events: TransportEvents | undefined;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  async open(events: TransportEvents): Promise<void> {
    this.#events = events;
  }

  send({ text }: OutgoingMessage): void {
    if (this.#events === undefined)
      throw new PortolanError("CONNECTION_CLOSED", "the in-process server is closed");
    // Delivered asynchronously, as on every other transport, so that no call is answered before it has returned.
    // The server gets a copy of the message, so that neither side can change an object of the other.
    queueMicrotask(() =>
      this.#server.receive(JSON.parse(text) as RpcMessage, (answer) => this.#events?.message(answer)),
    );
  }

  async close(): Promise<void> {
    this.#events = undefined;
    await this.#server.close?.();
  }
}
