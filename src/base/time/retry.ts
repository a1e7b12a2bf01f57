// Waiting times before a retry: exponential back-off, and the Retry-After header of HTTP.

/** Returns `firstMs`, doubled for each failure before this one, and at most `maxMs`. */
export function backoffMs(earlierFailures: number, firstMs: number, maxMs: number): number {
  return Math.min(firstMs * 2 ** earlierFailures, maxMs);
}

/** Parses a `Retry-After` header: seconds, or a date. Returns undefined where it is missing or malformed. */
export function retryAfterMs(
  value: string | string[] | undefined,
  now: number = Date.now(),
): number | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
