// Work that has a time of its own, beside the caller's patience.

import { timerMs } from "../upstream/index.ts";

/** Runs the work with a signal that also ends with the time; then `late` is the outcome. Rethrows what the outer signal says. */
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
  // By hand: AbortSignal.any() costs many times as much.
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
