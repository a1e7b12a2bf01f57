// HTTP exchange: one authenticated request, until its response is sent or its client disconnects.

import type { HttpResponse } from "./responses.ts";

export class Exchange {
  readonly response: HttpResponse;
  /** Called when the connection closes before `done()`. Without it, the exchange is done then. */
  onDisconnect: (() => void) | undefined;
  /** Number of running requests in this exchange. */
  requests = 0;
  readonly #onFree: () => void;
  readonly #onDone: () => void;
  #isFree = false;
  #isDone = false;

  /** `onFree` is called when the exchange stops counting towards limits, then `onDone` when it is complete; each once. */
  constructor(response: HttpResponse, onFree: () => void, onDone: () => void = () => {}) {
    this.response = response;
    this.#onFree = onFree;
    this.#onDone = onDone;
    response.on("close", () => {
      if (this.onDisconnect === undefined) this.done();
      else this.onDisconnect();
    });
  }

  /** Completes the exchange. */
  readonly done = (): void => {
    // The connection keeps the response in memory for a while; the reply behind this callback need not stay with it.
    this.onDisconnect = undefined;
    this.free();
    if (this.#isDone) return;
    this.#isDone = true;
    this.#onDone();
  };

  /** The exchange no longer counts towards limits, but continues. */
  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#onFree();
  }
}
