// What a server was sent and has not taken yet. One that does not keep up is not sent more.

import { PortolanError } from "../../errors/index.ts";
import type { WireOptions } from "./transport.ts";

export class QueuedBytes {
  readonly #server: string;
  readonly #max: number;
  #bytes = 0;

  constructor({ server, maxQueuedBytes }: WireOptions) {
    this.#server = server;
    this.#max = maxQueuedBytes;
  }

  /** Throws BUSY when there is no room for it. */
  check(text: string): void {
    if (this.#bytes + text.length <= this.#max) return;
    const server = this.#server;
    throw new PortolanError("BUSY", `${server} does not take what it is sent`, { server });
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
