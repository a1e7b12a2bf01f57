// Limits of one caller: messages per second, requests at the same time, and bytes of requests in memory.

import type { GatewayCaller } from "../../model/index.ts";
import type { Gate, Refusal } from "./types.ts";

/** How many answers a caller may owe beyond its rate. */
const MAX_ANSWERS = 100;

export interface GateLimits extends NonNullable<GatewayCaller["limits"]> {
  /** Bytes of requests that are being received, or are not answered yet. */
  readonly bytes?: number | undefined;
}

/** `now` counts milliseconds and never goes back. */
export function createGate(limits: GateLimits | undefined, now: () => number): Gate {
  const { rate, concurrency = Infinity, bytes: maxBytes = Infinity } = limits ?? {};
  let running = 0;
  let level = rate?.burst ?? 0;
  let filledAt = now();
  let answers = 0;
  let bytes = 0;

  return {
    count(messages = 1) {
      if (rate === undefined || messages <= 0) return undefined;
      const at = now();
      level = Math.min(rate.burst, level + ((at - filledAt) / 1_000) * rate.perSecond);
      filledAt = at;
      // Many small fills add up to a little less than one.
      if (level >= messages - 1e-9) level = Math.max(0, level - messages);
      else if (messages === 1 && answers > 0) answers -= 1;
      else return tooFast((Math.min(messages, rate.burst) - level) / rate.perSecond);
      return undefined;
    },
    expectAnswer() {
      answers = Math.min(MAX_ANSWERS, answers + 1);
    },
    enter(requests = 1) {
      if (running + requests > concurrency) return tooMany(concurrency);
      running += requests;
      return undefined;
    },
    leave(requests = 1) {
      running = Math.max(0, running - requests);
    },
    hold(size) {
      if (bytes + size > maxBytes) return tooMuch();
      bytes += size;
      return undefined;
    },
    release(size) {
      bytes -= size;
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

function tooMuch(): Refusal {
  return {
    status: 429,
    headers: { "Retry-After": "1" },
    error: {
      code: "BUSY",
      message: "this caller sends too much at the same time",
      hint: "Wait for an answer before you send more; the limit is 32 MiB, or eight times gateway.limits.body_bytes if that is more.",
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

/** For a caller without limits. */
export const OPEN_GATE: Gate = createGate(undefined, () => 0);
