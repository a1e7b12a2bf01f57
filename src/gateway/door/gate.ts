// How fast and how much at once: a bucket that fills by the clock, and a count of what runs.

import type { GatewayCaller } from "../../model/index.ts";
import type { Gate, Refusal } from "./types.ts";

const OPEN: Gate = { enter: () => undefined, leave: () => {} };

/** `now` counts milliseconds and never goes back. */
export function createGate(limits: GatewayCaller["limits"], now: () => number): Gate {
  const { rate, concurrency = Number.POSITIVE_INFINITY } = limits ?? {};
  if (rate === undefined && concurrency === Number.POSITIVE_INFINITY) return OPEN;
  let running = 0;
  let level = rate?.burst ?? 0;
  let filledAt = now();

  return {
    enter() {
      if (running >= concurrency) return tooMany(concurrency);
      if (rate !== undefined) {
        const at = now();
        level = Math.min(rate.burst, level + ((at - filledAt) / 1_000) * rate.perSecond);
        filledAt = at;
        // Many small fills add up to a little less than one.
        if (level < 1 - 1e-9) return tooFast((1 - level) / rate.perSecond);
        level = Math.max(0, level - 1);
      }
      running += 1;
      return undefined;
    },
    leave() {
      if (running > 0) running -= 1;
    },
  };
}

function tooMany(concurrency: number): Refusal {
  return {
    status: 429,
    headers: { "Retry-After": "1" },
    error: {
      code: "BUSY",
      message: `this caller already has ${concurrency} request${concurrency === 1 ? "" : "s"} running`,
      hint: "Wait for one of them to end; gateway.limits.concurrency says how many may run.",
    },
  };
}

function tooFast(seconds: number): Refusal {
  const wait = Math.max(1, Math.ceil(seconds));
  return {
    status: 429,
    headers: { "Retry-After": String(wait) },
    error: {
      code: "RATE_LIMITED",
      message: `this caller asks more often than it may; the next request can come in ${wait} s`,
      hint: "Wait as long as Retry-After says; gateway.limits.rate says how often.",
    },
  };
}
