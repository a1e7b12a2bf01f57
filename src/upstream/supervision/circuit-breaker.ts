// Circuit breaker for one upstream: opens after five failures in half a minute, and lets one request try after a pause.

const FAILURES = 5;
const WINDOW_MS = 30_000;
const PAUSE_MS = 15_000;

export class CircuitBreaker {
  readonly #now: () => number;
  #failures: number[] = [];
  #openedAt: number | undefined;
  #trying = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True when a request may be sent now. After the pause exactly one is allowed, as a trial. */
  allows(): boolean {
    if (this.#openedAt === undefined) return true;
    if (this.#trying || this.#now() - this.#openedAt < PAUSE_MS) return false;
    this.#trying = true;
    return true;
  }

  succeeded(): void {
    this.#failures = [];
    this.#openedAt = undefined;
    this.#trying = false;
  }

  /** Requests that were in flight together count as one failure. */
  failed(sentAt: number = this.#now()): void {
    const now = this.#now();
    const last = this.#failures.at(-1);
    if (last !== undefined && sentAt < last) return;
    this.#failures = [...this.#failures.filter((at) => now - at < WINDOW_MS), now];
    if (this.#trying || this.#failures.length >= FAILURES) this.#openedAt = now;
    this.#trying = false;
  }

  /** The next request is the trial, even if the pause is not over. */
  endPause(): void {
    if (this.#openedAt !== undefined) this.#openedAt = -Infinity;
  }

  /** The trial request ended without showing whether the server works. */
  undecided(): void {
    this.#trying = false;
  }

  /** The time until the next request is allowed. */
  get pauseLeft(): number {
    return this.#openedAt === undefined ? 0 : Math.max(0, this.#openedAt + PAUSE_MS - this.#now());
  }

  /** True when requests are refused, until one succeeds. */
  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  get closed(): boolean {
    return this.#openedAt === undefined && this.#failures.length === 0;
  }
}
