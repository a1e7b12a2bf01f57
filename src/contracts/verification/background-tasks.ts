// Verifications that run in the background, for callers that want to wait until all have ended.

export class BackgroundTasks {
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** The task must not reject. */
  add(task: Promise<void>): void {
    const tracked: Promise<void> = task.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Resolves when all tasks have ended, also tasks that were added meanwhile, or when the time is over. */
  async settled(ms?: number): Promise<void> {
    const deadline = ms === undefined ? undefined : performance.now() + ms;
    while (this.#running.size > 0 && !this.#closing.signal.aborted) {
      const left = deadline === undefined ? undefined : deadline - performance.now();
      if (left !== undefined && left <= 0) return;
      await firstOf(Promise.all(this.#running), left, this.#closing.signal);
    }
  }

  /** Releases all that wait. */
  close(): void {
    this.#closing.abort();
  }
}

/** Waits for the work, for so many milliseconds, or until the signal aborts. */
function firstOf(work: Promise<unknown>, ms: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = ms === undefined ? undefined : setTimeout(stop, ms);
    signal.addEventListener("abort", stop, { once: true });
    work.then(stop, stop);
  });
}
