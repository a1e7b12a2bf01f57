// List refresher: merges a storm of change notifications into few refreshes, with a pause between them.

const PAUSE_MS = 500;

export class ListRefresher<T> {
  readonly #refresh: (stale: ReadonlySet<T>) => Promise<void>;
  #stale = new Set<T>();
  #running = false;
  #lastAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(refresh: (stale: ReadonlySet<T>) => Promise<void>) {
    this.#refresh = refresh;
  }

  /** Refreshes these items soon. */
  mark(...items: T[]): void {
    for (const item of items) this.#stale.add(item);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped || this.#running || this.#timer !== undefined || this.#stale.size === 0) return;
    const wait = Math.max(0, this.#lastAt + PAUSE_MS - performance.now());
    this.#timer = setTimeout(() => void this.#run(), wait).unref();
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    const stale = this.#stale;
    this.#stale = new Set();
    try {
      await this.#refresh(stale);
    } catch {
      // The last good lists stay; the next notification or start refreshes again.
    }
    this.#lastAt = performance.now();
    this.#running = false;
    this.#schedule();
  }
}
