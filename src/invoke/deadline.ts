// Work that has a time of its own, beside the caller's patience.

import { timerMs } from "../upstream/index.ts";

/** Runs the work with a signal that also ends with the time; then `late` is the outcome. Rethrows what the outer signal says. */
export async function withDeadline<T>(
  outer: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => T,
): Promise<T> {
  const time = new AbortController();
  const timer = ms === 0 ? undefined : setTimeout(() => time.abort(), timerMs(ms));
  try {
    return await work(AbortSignal.any([outer, time.signal]));
  } catch (error) {
    outer.throwIfAborted();
    if (time.signal.aborted) return late();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
