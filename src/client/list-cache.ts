// List cache: keeps the last result of a list request until it expires or the server reports a change.

export class ListCache<T> {
  readonly #load: (options: LoadOptions) => Promise<{ value: T; ttlMs: number }>;
  #value: T | undefined;
  #freshUntil = -Infinity;
  #loading: Promise<T> | undefined;
  /** Counts invalidations, so that a result that was requested before a change is not kept. */
  #version = 0;

  constructor(load: (options: LoadOptions) => Promise<{ value: T; ttlMs: number }>) {
    this.#load = load;
  }

  /** The value, if it has not expired. */
  get fresh(): T | undefined {
    return performance.now() < this.#freshUntil ? this.#value : undefined;
  }

  /** The last value, however old. */
  get last(): T | undefined {
    return this.#value;
  }

  async get(options: LoadOptions & { refresh?: boolean }): Promise<T> {
    const fresh = options.refresh === true ? undefined : this.fresh;
    if (fresh !== undefined) return fresh;
    // Concurrent callers share one request, unless the signal of one could cancel it for the others.
    if (options.signal !== undefined || options.refresh === true) return this.#fetch(options);
    this.#loading ??= this.#fetch(options).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  invalidate(): void {
    this.#version += 1;
    this.#freshUntil = -Infinity;
    this.#loading = undefined;
  }

  async #fetch(options: LoadOptions): Promise<T> {
    const version = this.#version;
    const { value, ttlMs } = await this.#load(options);
    this.#value = value;
    if (version === this.#version) this.#freshUntil = performance.now() + ttlMs;
    return value;
  }
}

export interface LoadOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly maxTimeoutMs?: number;
}
