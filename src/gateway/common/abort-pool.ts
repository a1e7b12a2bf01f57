// Pool of abort controllers: creating one costs more than most of the other work for a call.

const MAX_SPARE = 256;

export class AbortPool {
  readonly #spare: AbortController[] = [];

  take(): AbortController {
    return this.#spare.pop() ?? new AbortController();
  }

  /** Returns a controller that was not aborted and that has no listeners any more. */
  give(controller: AbortController): void {
    if (!controller.signal.aborted && this.#spare.length < MAX_SPARE) this.#spare.push(controller);
  }
}
