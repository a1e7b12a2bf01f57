// The clients that have a channel of their own (WebSocket, HTTP+SSE): how many there may be, and how they come to an end.

import { Duplex, type DuplexOptions } from "./duplex.ts";
import type { Visit } from "./types.ts";

export interface ChannelsOptions extends Pick<DuplexOptions, "modern" | "legacy"> {
  readonly max: number;
}

export class Channels {
  readonly #options: ChannelsOptions;
  readonly #open = new Map<Duplex, string>();
  #stopping = false;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Nothing when there are too many already. No caller may have more than half of them. */
  open(visit: Visit, write: (text: string) => void): Duplex | undefined {
    const { modern, legacy, max } = this.#options;
    const { name, gate } = visit.principal;
    const own = [...this.#open.values()].filter((principal) => principal === name).length;
    if (this.#stopping || this.#open.size >= max || own >= Math.ceil(max / 2)) return undefined;
    const duplex = new Duplex({
      modern,
      legacy,
      visit,
      write,
      enter: () => (this.#stopping ? STOPPING : gate.enter()?.error),
      leave: () => gate.leave(),
    });
    this.#open.set(duplex, name);
    return duplex;
  }

  close(duplex: Duplex): void {
    this.#open.delete(duplex);
    duplex.close();
  }

  /** No more requests are taken. Resolves when those under way are answered. */
  async drain(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#open.keys()].map((duplex) => duplex.idle()));
  }
}

const STOPPING = { message: "The gateway is stopping" };
