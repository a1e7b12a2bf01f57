// One request under way: ends with the caller's signal, the caller's patience, or the server; and can be seen while it runs.

import { PortolanError } from "../errors/index.ts";
import type { Limits } from "../model/index.ts";
import { type Call, timerMs } from "../upstream/index.ts";

export class Attempts {
  readonly #server: string;
  readonly #limits: Limits;
  readonly #running = new Set<AbortController>();
  #closed = false;

  constructor(server: string, limits: Limits) {
    this.#server = server;
    this.#limits = limits;
  }

  get size(): number {
    return this.#running.size;
  }

  /** The invocation has a time limit of its own; this one is the caller's, and starts anew with every sign of progress. */
  async run<T>(
    call: Call,
    work: (signal: AbortSignal, progress: (message: string) => void) => Promise<T>,
  ): Promise<T> {
    const { method, signal: outer, timeoutMs: idleMs = 0, maxTimeoutMs = this.#limits.maxRequestMs } = call;
    const own = new AbortController();
    const end = (code: "TIMEOUT" | "CANCELLED" | "CONNECTION_CLOSED", text: string, cause?: unknown): void =>
      own.abort(new PortolanError(code, text, { server: this.#server, cause }));
    const late = (ms: number) => (): void =>
      end("TIMEOUT", `${this.#server}: ${method} took longer than ${ms} ms`);
    const cancel = (): void => end("CANCELLED", `${method} was cancelled`, outer?.reason);
    if (this.#closed) end("CONNECTION_CLOSED", `${this.#server} is closed`);
    else if (outer?.aborted) cancel();
    outer?.addEventListener("abort", cancel, { once: true });
    const hard = maxTimeoutMs === 0 ? undefined : setTimeout(late(maxTimeoutMs), timerMs(maxTimeoutMs));
    const idle = idleMs === 0 ? undefined : setTimeout(late(idleMs), timerMs(idleMs));
    this.#running.add(own);
    let told = 0;
    const progress = (message: string): void => {
      if (own.signal.aborted) return;
      idle?.refresh();
      call.onProgress?.({ progress: (told += 1), message });
    };
    try {
      own.signal.throwIfAborted();
      return await untilAborted(work(own.signal, progress), own.signal);
    } finally {
      clearTimeout(hard);
      clearTimeout(idle);
      outer?.removeEventListener("abort", cancel);
      this.#running.delete(own);
    }
  }

  close(): void {
    this.#closed = true;
    for (const own of this.#running)
      own.abort(
        new PortolanError("CONNECTION_CLOSED", `${this.#server} is closed`, { server: this.#server }),
      );
  }
}

/** The caller need not wait until what was told to stop has stopped. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
