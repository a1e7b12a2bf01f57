// Looks at servers that are under way in the background, for whoever wants to wait for them.

export class Looks {
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** It must not fail. */
  add(look: Promise<void>): void {
    const tracked: Promise<void> = look.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  /** All have ended, also those that came meanwhile, or so much time has passed. */
  async settled(ms?: number): Promise<void> {
    const deadline = ms === undefined ? undefined : performance.now() + ms;
    while (this.#underWay.size > 0 && !this.#closing.signal.aborted) {
      const left = deadline === undefined ? undefined : deadline - performance.now();
      if (left !== undefined && left <= 0) return;
      await ended(Promise.all(this.#underWay), left, this.#closing.signal);
    }
  }

  /** Nobody waits any longer. */
  close(): void {
    this.#closing.abort();
  }
}

/** Waits for it, for so long, or until all is over. */
function ended(work: Promise<unknown>, ms: number | undefined, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      over.removeEventListener("abort", stop);
      resolve();
    };
    const timer = ms === undefined ? undefined : setTimeout(stop, ms);
    over.addEventListener("abort", stop, { once: true });
    work.then(stop, stop);
  });
}
