// Waits with a time limit and an abort signal.

import { MAY_HAVE_RUN, PortolanError, SLOW_SERVER_HINT } from "../errors/index.ts";
import type { JsonObject } from "../model/index.ts";

/** Resolves after the time, or when the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, timerMs(ms));
    if (signal?.aborted) done();
    else signal?.addEventListener("abort", done, { once: true });
  });
}

/** The promise's outcome, or undefined when the time or the signal comes first. The promise itself continues. */
export async function unlessLate<T>(
  promise: Promise<T>,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  const settled = new AbortController();
  const late = pause(ms, AbortSignal.any([signal, settled.signal])).then(() => undefined);
  return Promise.race([promise, late]).finally(() => settled.abort());
}

/** For a call that exceeds its hard limit. */
export const HARD_LIMIT_HINT: string = `${MAY_HAVE_RUN} Raise the hard limit if the call is known to take long: maxTimeoutMs of the call or limits.maxRequestMs in a program, timeouts.max in a config file.`;

const UNSENT_HINT = "The call was not sent to the server.";

/** The promise's outcome, unless the time (0: no limit) or the signal ends the wait. The promise itself continues. */
export function within<T>(
  promise: Promise<T>,
  limit: {
    server: string;
    what: string;
    ms: number;
    /** When the wait ends, if its time began earlier. */
    endsAt?: number;
    signal: AbortSignal | undefined;
    /** True if the call was sent before the wait, so that the wait ends with the hard limit of the call. */
    isSent?: boolean;
  },
): Promise<T> {
  const { server, what, ms, endsAt = performance.now() + ms, signal, isSent = false } = limit;
  const unsent = isSent ? {} : { neverRan: true };
  return new Promise((resolve, reject) => {
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
    const late = (): void => {
      over();
      reject(
        new PortolanError("TIMEOUT", `${server}: ${what} took longer than ${ms} ms`, {
          server,
          data: { timeoutMs: ms, ...unsent },
          hint: isSent ? HARD_LIMIT_HINT : SLOW_SERVER_HINT,
        }),
      );
    };
    const abort = (): void => {
      over();
      reject(
        new PortolanError("CANCELLED", `${server}: ${what} was cancelled`, {
          server,
          data: unsent,
          hint: isSent ? undefined : UNSENT_HINT,
          cause: signal?.reason,
        }),
      );
    };
    const timer = ms === 0 ? undefined : setTimeout(late, timerMs(endsAt - performance.now()));
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(over);
  });
}

/**
 * The error of a request that its caller cancelled: names the server, and the tool, prompt or resource. `neverRan`: the request cannot
 * have reached the server.
 */
export function cancelledRequest(
  server: string,
  { method, params }: { readonly method: string; readonly params?: JsonObject | undefined },
  cause: unknown,
  { neverRan = false }: { readonly neverRan?: boolean | undefined } = {},
): PortolanError {
  const name = params?.name ?? params?.uri;
  const what =
    typeof name !== "string"
      ? method
      : method === "tools/call"
        ? `the call of ${name}`
        : `${method} of ${name}`;
  const unsent = neverRan ? { data: { neverRan }, hint: UNSENT_HINT } : {};
  return new PortolanError("CANCELLED", `${server}: ${what} was cancelled`, { server, cause, ...unsent });
}

/** Node timers take 32-bit milliseconds, so longer waits are cut. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(0, ms), 2 ** 31 - 1);
}
