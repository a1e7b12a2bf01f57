// The in-process wire: a server that is a function of this program, without bytes in between.

import type { RpcMessage } from "../../model/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Outgoing } from "./outgoing-message.ts";
import type { Wire, WireCounters, WireEvents } from "./transport.ts";

/** The server's side: takes what the client sends, and may send at any time. */
export interface MemoryServer {
  receive(message: RpcMessage, send: (message: RpcMessage) => void): void;
  close?(): void | Promise<void>;
}

export class MemoryWire implements Wire {
  readonly transport = "memory";
  readonly perRequestStreams = false;
  readonly counters: WireCounters = { noise: 0 };
  readonly #server: MemoryServer;
  #events: WireEvents | undefined;

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  async open(events: WireEvents): Promise<void> {
    this.#events = events;
  }

  send({ text }: Outgoing): void {
    if (this.#events === undefined)
      throw new PortolanError("CONNECTION_CLOSED", "the in-process server is closed");
    // In a turn of its own, as on every other wire: a caller is never answered before its call has returned.
    // What the server gets is a copy: neither side can change what the other holds.
    queueMicrotask(() =>
      this.#server.receive(JSON.parse(text) as RpcMessage, (answer) => this.#events?.message(answer)),
    );
  }

  abandon(): void {}
  negotiated(): void {}
  listen(): void {}
  async flushed(): Promise<void> {}

  stderrTail(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#events = undefined;
    await this.#server.close?.();
  }
}
