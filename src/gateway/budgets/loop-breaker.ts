// Loop breaker: finds calls that a caller repeats with the same arguments, among the last different calls of each caller.

import { createHash } from "node:crypto";
import type { GatewayLoops, JsonObject } from "../../model/index.ts";
import { createLruMap, type LruMap } from "../access/lru-map.ts";

interface Repeated {
  since: number;
  calls: number;
  /** Digest of the last result of a read-only tool. */
  result: string | undefined;
  isReported: boolean;
}

export interface CountedCall {
  readonly caller: string;
  readonly tool: string;
  readonly digest: string;
}

/** A call that was counted. `ended` takes its result. */
export interface OpenCall {
  ended(result: JsonObject | undefined): void;
}

export interface Loop {
  readonly calls: number;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** True for the first refusal of this time. */
  readonly isFirst: boolean;
}

/** Bounds of the memory: a loop with more steps than this is not found. */
const MAX_CALLERS = 1_000;
const MAX_CALLS = 200;

export class LoopBreaker {
  readonly #now: () => number;
  readonly #callers: LruMap<LruMap<Repeated>> = createLruMap(MAX_CALLERS);

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts a call, or returns the loop that it belongs to. With `isReadOnly`, a result that differs from the last one begins the count
   * anew: such a call waits for a change. A tool that changes something must not be repeated, whatever it answers.
   */
  begin(call: CountedCall, isReadOnly: boolean, { identical, withinMs }: GatewayLoops): Loop | OpenCall {
    const now = this.#now();
    const repeated = this.#find(call, now, withinMs);
    if (repeated.calls >= identical) {
      const isFirst = !repeated.isReported;
      repeated.isReported = true;
      return { calls: repeated.calls, until: repeated.since + withinMs, isFirst };
    }
    repeated.calls += 1;
    return {
      ended(result) {
        // The client sends the same call again with the answers, which is no repetition.
        if (result?.resultType === "input_required") repeated.calls = Math.max(0, repeated.calls - 1);
        else if (isReadOnly) {
          const digest = digestOf(result);
          if (repeated.result !== undefined && repeated.result !== digest) {
            repeated.since = now;
            repeated.calls = 1;
          }
          repeated.result = digest;
        }
      },
    };
  }

  #find({ caller, tool, digest }: CountedCall, now: number, withinMs: number): Repeated {
    let calls = this.#callers.get(caller);
    if (calls === undefined) this.#callers.set(caller, (calls = createLruMap<Repeated>(MAX_CALLS)));
    const key = `${tool}\n${digest}`;
    const known = calls.get(key);
    // A clock that was set back must not make the time longer.
    if (known !== undefined && now >= known.since && now < known.since + withinMs) return known;
    const fresh: Repeated = { since: now, calls: 0, result: known?.result, isReported: false };
    calls.set(key, fresh);
    return fresh;
  }
}

/** Digest of what the model sees of a result. `_meta` often has times and ids. Undefined is a call that failed. */
function digestOf(result: JsonObject | undefined): string {
  if (result === undefined) return "failed";
  const { content, structuredContent, isError } = result;
  return createHash("sha256")
    .update(JSON.stringify([content, structuredContent, isError]))
    .digest("base64url");
}
