// When a server that failed is tried again: after pauses that grow with every failure in a row.

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

export class Retries {
  /** In a row. */
  failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #until = 0;

  /** Whether the last failure was just now: trying again would only show the same. */
  get tooSoon(): boolean {
    return performance.now() < this.#until;
  }

  /** Counts a failure. After the pause it is tried again, unless that waits for somebody to need it. */
  failed(isBlocked: boolean, tryAgain: (() => void) | undefined): void {
    this.failures += 1;
    const pause = isBlocked
      ? MAX_PAUSE_MS
      : Math.min(FIRST_PAUSE_MS * 2 ** (this.failures - 1), MAX_PAUSE_MS);
    const delay = pause * (0.8 + Math.random() * 0.4);
    this.#until = performance.now() + delay;
    if (tryAgain !== undefined) this.#timer = setTimeout(tryAgain, delay).unref();
  }

  succeeded(): void {
    this.failures = 0;
  }

  /** It is tried now, or not any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
