// One HTTP request that was let in, until it is answered or its client has gone.

import type { ServerResponse } from "node:http";

export class Exchange {
  readonly response: ServerResponse;
  /** Called when the connection closes before `done()`. Without it, the exchange is over then. */
  left: (() => void) | undefined;
  /** How many requests of it run. */
  requests = 0;
  readonly #freed: () => void;
  readonly #over: () => void;
  #isFree = false;
  #isOver = false;

  /** `freed` is called when it takes no place any more, `over` when nothing more is done for it; each once, in this order. */
  constructor(response: ServerResponse, freed: () => void, over: () => void = () => {}) {
    this.response = response;
    this.#freed = freed;
    this.#over = over;
    response.on("close", () => {
      if (this.left === undefined) this.done();
      else this.left();
    });
  }

  /** It is over: nothing more is done for it. */
  readonly done = (): void => {
    // The response is kept for a while by its connection; what was done for it need not be.
    this.left = undefined;
    this.free();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#over();
  };

  /** It takes no place any more, but goes on. */
  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#freed();
  }
}
