import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RpcRefusal } from "../common/messages.ts";
import {
  isOwnState,
  type Suspendable,
  type CallBinding,
  SuspendedCalls,
  type SuspendedCallsOptions,
} from "./suspended-calls.ts";

const BOUND: CallBinding = { caller: "alice", view: "*", method: "tools/call", params: { name: "t" } };
const KEY = randomBytes(32);

class Waiting implements Suspendable {
  expired: string | undefined;
  expire(reason: string): void {
    this.expired = reason;
  }
}

function setUp(options: Partial<SuspendedCallsOptions> = {}): SuspendedCalls<Waiting> {
  return new SuspendedCalls({ key: KEY, keepMs: 1_000, maxPerCaller: 10, maxTotal: 100, ...options });
}

function refusal(taking: () => unknown): { code: number; message: string; data?: unknown } {
  try {
    taking();
  } catch (error) {
    if (error instanceof RpcRefusal) return error.error;
    throw error;
  }
  throw new Error("it was accepted");
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("take() returns a suspended call once, to the same request with any answers", () => {
  const suspended = setUp();
  const call = new Waiting();
  const state = suspended.suspend(call, {
    ...BOUND,
    params: { name: "t", arguments: { a: 1, b: [{ c: 2, d: 3 }] } },
  });
  expect(isOwnState(state)).toBe(true);
  const again = {
    ...BOUND,
    params: {
      requestState: state,
      inputResponses: { q: {} },
      arguments: { b: [{ d: 3, c: 2 }], a: 1 },
      name: "t",
      _meta: { progressToken: 5 },
    },
  };
  expect(suspended.take(state, again)).toBe(call);
  expect(suspended.size).toBe(0);
  expect(refusal(() => suspended.take(state, again))).toMatchObject({
    code: -32602,
    message: expect.stringContaining("used before"),
  });
  vi.advanceTimersByTime(2_000);
  expect(call.expired).toBeUndefined();
});

describe("take() refuses a request state", () => {
  it.each<[string, Partial<CallBinding>]>([
    ["of another caller", { caller: "bob" }],
    ["at another endpoint", { view: "server one" }],
    ["for another method", { method: "prompts/get" }],
    ["with other params", { params: { name: "u" } }],
    ["with more params", { params: { name: "t", arguments: {} } }],
  ])("%s", (_what, other) => {
    const suspended = setUp();
    const state = suspended.suspend(new Waiting(), BOUND);
    expect(refusal(() => suspended.take(state, { ...BOUND, ...other })).code).toBe(-32602);
    expect(suspended.size).toBe(1);
  });

  it("that was changed", () => {
    const suspended = setUp();
    const state = suspended.suspend(new Waiting(), BOUND);
    fc.assert(
      fc.property(
        fc.nat(state.length - 1),
        fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
        (at, put) => {
          const forged = state.slice(0, at) + put + state.slice(at + 1);
          if (forged === state || !isOwnState(forged)) return;
          expect(refusal(() => suspended.take(forged, BOUND)).code).toBe(-32602);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (tail) => {
        expect(refusal(() => suspended.take(`portolan1.${tail}`, BOUND)).code).toBe(-32602);
      }),
    );
    expect(suspended.size).toBe(1);
  });

  it("as expired, as ended after a restart, or as forged", () => {
    const suspended = setUp();
    const call = new Waiting();
    const state = suspended.suspend(call, BOUND);
    const ended = refusal(() => setUp().take(state, BOUND));
    expect(ended.message).toContain("has ended");
    expect(ended.data).toEqual({
      hint: expect.stringContaining("The earlier call may have had an effect already.") as string,
    });
    vi.advanceTimersByTime(1_001);
    expect(call.expired).toBe(
      "the client did not answer the requests of the server in time (gateway.limits.suspended_for)",
    );
    expect(refusal(() => suspended.take(state, BOUND)).message).toContain("expired");
    expect(refusal(() => setUp({ key: randomBytes(32) }).take(state, BOUND)).message).toContain(
      "does not belong to",
    );
  });
});

it("at the limit, the oldest call of the caller expires, then the oldest of all callers", () => {
  const suspended = setUp({ maxPerCaller: 2, maxTotal: 3 });
  const suspend = (caller: string): Waiting => {
    const call = new Waiting();
    suspended.suspend(call, { ...BOUND, caller });
    return call;
  };
  const [bob, first, second] = [suspend("bob"), suspend("alice"), suspend("alice")];
  const third = suspend("alice");
  expect([bob, first, second, third].map(({ expired }) => expired !== undefined)).toEqual([
    false,
    true,
    false,
    false,
  ]);
  suspend("carol");
  expect(bob.expired).toBe(
    "other calls that wait for answers of their clients use up the limits of the gateway",
  );
  expect(suspended.size).toBe(3);
  suspended.clear("the end");
  expect([second.expired, third.expired, suspended.size]).toEqual(["the end", "the end", 0]);
});

it("at the byte limit, the oldest calls of the same caller expire", () => {
  const suspended = setUp({ maxBytesPerCaller: 5_000 });
  const large = { ...BOUND, params: { name: "t", text: "x".repeat(1_000) } };
  const other = new Waiting();
  suspended.suspend(other, { ...large, caller: "bob" });
  const calls = Array.from({ length: 4 }, () => new Waiting());
  for (const call of calls) suspended.suspend(call, large);
  expect(calls.map(({ expired }) => expired !== undefined)).toEqual([true, true, false, false]);
  expect(other.expired).toBeUndefined();
});
