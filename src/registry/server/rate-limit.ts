// Rate limit per caller: a token bucket for each address, for at most 10 000 addresses.

import { isIP } from "node:net";
import { finalAddress } from "../../base/net/addresses.ts";

export interface RateLimit {
  /** Requests per second in the long run. */
  readonly perSecond: number;
  /** Requests at once. */
  readonly burst: number;
}

export interface RateLimiter {
  /** Returns 0 if the request may be made, or the seconds to wait. */
  take(address: string): number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const MAX_CALLERS = 10_000;

export function createRateLimiter({ perSecond, burst }: RateLimit, now: () => number): RateLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take(address) {
      const caller = callerOf(address);
      const time = now();
      const bucket = buckets.get(caller) ?? { tokens: burst, at: time };
      bucket.tokens = Math.min(burst, bucket.tokens + ((time - bucket.at) / 1_000) * perSecond);
      bucket.at = time;
      // The caller moves to the end of the map, so the first one is the one that was silent for longest.
      buckets.delete(caller);
      buckets.set(caller, bucket);
      const [oldest] = buckets.keys();
      if (buckets.size > MAX_CALLERS && oldest !== undefined) buckets.delete(oldest);
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
      bucket.tokens -= 1;
      return 0;
    },
  };
}

/** One customer of a provider usually has a whole /64 of IPv6. */
function callerOf(address: string): string {
  const final = finalAddress(address) ?? address;
  if (isIP(final) !== 6) return final;
  const [head = "", tail] = final.split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - after.length }, () => "0");
  return [...groups, ...zeros, ...after].slice(0, 4).join(":");
}
