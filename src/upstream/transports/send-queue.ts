// Send queue limit of one server: counts the bytes that it has not accepted yet, and rejects messages above the limit.

import { PortolanError } from "../../errors/index.ts";
import type { TransportOptions } from "./transport.ts";

export class SendQueue {
  readonly #server: string;
  readonly #max: number;
  #bytes = 0;

  constructor({ server, maxQueuedBytes }: TransportOptions) {
    this.#server = server;
    this.#max = maxQueuedBytes;
  }

  /** Throws BUSY when the text would exceed the limit. */
  check(text: string): void {
    if (this.#bytes + text.length <= this.#max) return;
    const server = this.#server;
    throw new PortolanError("BUSY", `${server} does not accept the messages sent to it`, { server });
  }

  /** Counts the text until the returned function is called. */
  add(text: string): () => void {
    this.#bytes += text.length;
    let counted = true;
    return () => {
      if (counted) this.#bytes -= text.length;
      counted = false;
    };
  }
}
