// Requests under way on one invoked server: cancelled by the caller, by a time limit, or when the server closes.

import { CALL_TIMEOUT_HINT, PortolanError } from "../errors/index.ts";
import type { Limits } from "../model/index.ts";
import { type Call, cancelledRequest, neverSentError, timerMs } from "../upstream/index.ts";

export class RunningRequests {
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

  /** Applies the time limits of the caller; progress restarts the idle limit. The invocation has its own limit, see `withDeadline()`. */
  async run<T>(
    call: Call,
    work: (signal: AbortSignal, progress: (message: string) => void) => Promise<T>,
  ): Promise<T> {
    const { method, signal: outer, timeoutMs: idleMs = 0, maxTimeoutMs = this.#limits.maxRequestMs } = call;
    if (this.#closed) throw neverSentError(this.#server);
    const own = new AbortController();
    const late = (ms: number) => (): void => {
      const message = `${this.#server}: ${method} took longer than ${ms} ms`;
      own.abort(new PortolanError("TIMEOUT", message, { server: this.#server, hint: CALL_TIMEOUT_HINT }));
    };
    const cancel = (): void => own.abort(cancelledRequest(this.#server, call, outer?.reason));
    if (outer?.aborted) cancel();
    outer?.addEventListener("abort", cancel, { once: true });
    const hard = maxTimeoutMs === 0 ? undefined : setTimeout(late(maxTimeoutMs), timerMs(maxTimeoutMs));
    const idle = idleMs === 0 ? undefined : setTimeout(late(idleMs), timerMs(idleMs));
    this.#running.add(own);
    let reported = 0;
    const progress = (message: string): void => {
      if (own.signal.aborted) return;
      idle?.refresh();
      call.onProgress?.({ progress: (reported += 1), message });
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

/** Rejects as soon as the signal aborts, without waiting until the work has stopped. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Runs work under the time limit of its invocation. After `ms` the work is aborted and `late()` is the result; an abort of `outer` is rethrown. */
export async function withDeadline<T>(
  outer: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => T,
): Promise<T> {
  const own = new AbortController();
  const stop = (): void => own.abort(outer.reason);
  let isLate = false;
  const end = (): void => {
    isLate = true;
    own.abort();
  };
  if (outer.aborted) stop();
  // AbortSignal.any() would cost many times as much per call.
  outer.addEventListener("abort", stop, { once: true });
  const timer = ms === 0 ? undefined : setTimeout(end, timerMs(ms));
  try {
    return await work(own.signal);
  } catch (error) {
    outer.throwIfAborted();
    if (isLate) return late();
    throw error;
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", stop);
  }
}
