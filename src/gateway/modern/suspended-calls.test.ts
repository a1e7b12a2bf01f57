import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RpcRefusal } from "../common/messages.ts";
import {
  isOwnState,
  type Parkable,
  type ParkedFor,
  Parking,
  type ParkingOptions,
} from "./suspended-calls.ts";

const BOUND: ParkedFor = { principal: "alice", offer: "*", method: "tools/call", params: { name: "t" } };
const KEY = randomBytes(32);

class Waiting implements Parkable {
  expired: string | undefined;
  expire(reason: string): void {
    this.expired = reason;
  }
}

function setUp(options: Partial<ParkingOptions> = {}): Parking<Waiting> {
  return new Parking({ key: KEY, keepMs: 1_000, maxPerPrincipal: 10, maxTotal: 100, ...options });
}

function refusal(taking: () => unknown): { code: number; message: string } {
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

it("gives a call back once, to the same request with whatever answers", () => {
  const parking = setUp();
  const call = new Waiting();
  const state = parking.park(call, {
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
  expect(parking.take(state, again)).toBe(call);
  expect(parking.size).toBe(0);
  expect(refusal(() => parking.take(state, again))).toMatchObject({
    code: -32602,
    message: expect.stringContaining("used before"),
  });
  vi.advanceTimersByTime(2_000);
  expect(call.expired).toBeUndefined();
});

describe("a state is refused", () => {
  it.each<[string, Partial<ParkedFor>]>([
    ["of another caller", { principal: "bob" }],
    ["at another address", { offer: "server one" }],
    ["for another method", { method: "prompts/get" }],
    ["for other params", { params: { name: "u" } }],
    ["for more params", { params: { name: "t", arguments: {} } }],
  ])("%s", (_what, other) => {
    const parking = setUp();
    const state = parking.park(new Waiting(), BOUND);
    expect(refusal(() => parking.take(state, { ...BOUND, ...other })).code).toBe(-32602);
    expect(parking.size).toBe(1);
  });

  it("when anything in it was changed, whatever it says", () => {
    const parking = setUp();
    const state = parking.park(new Waiting(), BOUND);
    fc.assert(
      fc.property(
        fc.nat(state.length - 1),
        fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
        (at, put) => {
          const forged = state.slice(0, at) + put + state.slice(at + 1);
          if (forged === state || !isOwnState(forged)) return;
          expect(refusal(() => parking.take(forged, BOUND)).code).toBe(-32602);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (tail) => {
        expect(refusal(() => parking.take(`portolan1.${tail}`, BOUND)).code).toBe(-32602);
      }),
    );
    expect(parking.size).toBe(1);
  });

  it("as expired when it is, and as gone after a restart, but not as forged", () => {
    const parking = setUp();
    const call = new Waiting();
    const state = parking.park(call, BOUND);
    expect(refusal(() => setUp().take(state, BOUND)).message).toContain("gone");
    vi.advanceTimersByTime(1_001);
    expect(call.expired).toBe("nobody answered in time");
    expect(refusal(() => parking.take(state, BOUND)).message).toContain("expired");
    expect(refusal(() => setUp({ key: randomBytes(32) }).take(state, BOUND)).message).toContain(
      "not given for",
    );
  });
});

it("makes room: the oldest of the caller goes first, then the oldest of all", () => {
  const parking = setUp({ maxPerPrincipal: 2, maxTotal: 3 });
  const park = (principal: string): Waiting => {
    const call = new Waiting();
    parking.park(call, { ...BOUND, principal });
    return call;
  };
  const [bob, first, second] = [park("bob"), park("alice"), park("alice")];
  const third = park("alice");
  expect([bob, first, second, third].map(({ expired }) => expired !== undefined)).toEqual([
    false,
    true,
    false,
    false,
  ]);
  park("carol");
  expect(bob.expired).toBe("too many calls wait for answers");
  expect(parking.size).toBe(3);
  parking.clear("the end");
  expect([second.expired, third.expired, parking.size]).toEqual(["the end", "the end", 0]);
});

it("makes room among the caller's own calls when their params take too much", () => {
  const parking = setUp({ maxBytesPerPrincipal: 5_000 });
  const large = { ...BOUND, params: { name: "t", text: "x".repeat(1_000) } };
  const other = new Waiting();
  parking.park(other, { ...large, principal: "bob" });
  const calls = Array.from({ length: 4 }, () => new Waiting());
  for (const call of calls) parking.park(call, large);
  expect(calls.map(({ expired }) => expired !== undefined)).toEqual([true, true, false, false]);
  expect(other.expired).toBeUndefined();
});
