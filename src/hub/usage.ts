// Whether a server is in use, how fast it answers, and when it has been idle for long enough to be stopped.

export class Usage {
  /** Of its answers, the later ones counting more. */
  latencyMs: number | undefined;
  readonly #idleMs: number;
  readonly #idle: () => void;
  #calls = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Without a time it is never idle. */
  constructor(idleMs: number | undefined, idle: () => void) {
    this.#idleMs = idleMs ?? 0;
    this.#idle = idle;
  }

  get busy(): boolean {
    return this.#calls > 0;
  }

  begin(): void {
    this.#calls += 1;
    clearTimeout(this.#timer);
  }

  end(): void {
    this.#calls -= 1;
  }

  answered(tookMs: number): void {
    this.latencyMs = this.latencyMs === undefined ? tookMs : this.latencyMs * 0.8 + tookMs * 0.2;
  }

  /** It runs: from now on it is counted how long nobody uses it. */
  rest(): void {
    clearTimeout(this.#timer);
    if (this.#idleMs <= 0 || this.busy) return;
    this.#timer = setTimeout(() => {
      if (!this.busy) this.#idle();
    }, this.#idleMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
