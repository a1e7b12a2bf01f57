// Limits of one caller: messages per second, concurrent requests, and bytes of requests in memory.

import type { GatewayCaller } from "../../model/index.ts";
import { createRefusal } from "./refusals.ts";
import type { CallerLimits, Refusal } from "./types.ts";

/** Most answers to server requests that a caller may send in addition to its rate. */
const MAX_ANSWERS = 100;

export interface LimitSettings extends NonNullable<GatewayCaller["limits"]> {
  /** Bytes of requests that are being received or have no response yet. */
  readonly bytes?: number;
  /** Settings that set the limits, for hints: those of the gateway, or those of this caller. */
  readonly settings?: { readonly rate: string; readonly concurrency: string };
}

const GATEWAY_LIMITS = { rate: "gateway.limits.rate", concurrency: "gateway.limits.concurrency" };

/** `now` is a monotonic clock in milliseconds. */
export function createCallerLimits(limits: LimitSettings | undefined, now: () => number): CallerLimits {
  const {
    rate,
    concurrency = Infinity,
    bytes: maxBytes = Infinity,
    settings = GATEWAY_LIMITS,
  } = limits ?? {};
  let running = 0;
  let level = rate?.burst ?? 0;
  let filledAt = now();
  let answers = 0;
  let bytes = 0;

  return {
    countMessages(messages = 1) {
      if (rate === undefined || messages <= 0) return undefined;
      const at = now();
      level = Math.min(rate.burst, level + ((at - filledAt) / 1_000) * rate.perSecond);
      filledAt = at;
      // The tolerance covers rounding errors of many small refills.
      if (level >= messages - 1e-9) level = Math.max(0, level - messages);
      else if (messages === 1 && answers > 0) answers -= 1;
      else return tooFast((Math.min(messages, rate.burst) - level) / rate.perSecond, settings.rate);
      return undefined;
    },
    expectAnswer() {
      answers = Math.min(MAX_ANSWERS, answers + 1);
    },
    startRequests(requests = 1) {
      if (running + requests > concurrency) return tooMany(concurrency, settings.concurrency);
      running += requests;
      return undefined;
    },
    endRequests(requests = 1) {
      running = Math.max(0, running - requests);
    },
    reserveBytes(size) {
      if (bytes + size > maxBytes) return tooMuch();
      bytes += size;
      return undefined;
    },
    releaseBytes(size) {
      bytes -= size;
    },
  };
}

function tooMany(concurrency: number, setting: string): Refusal {
  const message = `the gateway did not run the request: this caller may have at most ${concurrency} request${concurrency === 1 ? "" : "s"} running at the same time`;
  return busy(
    "BUSY",
    message,
    `Send the request again when another request of this caller has ended. The operator of the gateway sets the limit with ${setting}.`,
    1,
  );
}

function tooMuch(): Refusal {
  const hint =
    "Wait for the response to another request of this caller, then send the request again. The limit is 32 MiB, or eight times gateway.limits.body_bytes if that is more.";
  return busy(
    "BUSY",
    "the gateway did not run the request: the running requests of this caller have too many bytes in total",
    hint,
    1,
  );
}

function tooFast(seconds: number, setting: string): Refusal {
  const wait = Math.max(1, Math.ceil(seconds));
  const message = "the gateway did not run the request: this caller exceeds its rate limit";
  return busy(
    "RATE_LIMITED",
    message,
    `Send the request again in ${wait} s. The operator of the gateway sets the limit with ${setting}.`,
    wait,
  );
}

function busy(code: "BUSY" | "RATE_LIMITED", message: string, hint: string, retryInS: number): Refusal {
  return createRefusal(429, code, message, hint, { "Retry-After": String(retryInS) });
}

/** For a caller without limits. */
export const NO_LIMITS: CallerLimits = createCallerLimits(undefined, () => 0);
