import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Counters } from "./counters.ts";

const CALLS = { budget: "b", kind: "calls", caller: "agent" } as const;
const PER_HOUR = { amount: 10, periodMs: 3_600_000 };

function setUp(start = 1_000_000) {
  const clock = { now: start };
  return { clock, counters: new Counters(() => clock.now) };
}

describe("the period of a budget", () => {
  test("begins with the first call, and ends after its duration", () => {
    const { clock, counters } = setUp();
    counters.add(CALLS, PER_HOUR, 3);
    clock.now += 3_599_999;
    expect(counters.read(CALLS, PER_HOUR)).toMatchObject({ used: 3, since: 1_000_000 });
    clock.now += 1;
    counters.add(CALLS, PER_HOUR, 1);
    expect(counters.read(CALLS, PER_HOUR)).toMatchObject({ used: 1, since: 4_600_000 });
  });

  test("does not become longer when the clock is set back", () => {
    const { clock, counters } = setUp();
    counters.add(CALLS, PER_HOUR, 3);
    clock.now -= 500_000;
    expect(counters.read(CALLS, PER_HOUR)).toMatchObject({ used: 3, since: 500_000 });
  });

  test("has the duration of the current settings", () => {
    const { clock, counters } = setUp();
    counters.add(CALLS, PER_HOUR, 3);
    clock.now += 60_000;
    expect(counters.read(CALLS, { amount: 5, periodMs: 120_000 }).used).toBe(3);
    expect(counters.read(CALLS, { amount: 5, periodMs: 60_000 }).used).toBe(0);
  });

  test("isFirstRefusal is true once per period", () => {
    const { clock, counters } = setUp();
    counters.add(CALLS, PER_HOUR, 3);
    expect([1, 2, 3].map(() => counters.isFirstRefusal(CALLS, PER_HOUR))).toEqual([true, false, false]);
    clock.now += 3_600_000;
    expect(counters.isFirstRefusal(CALLS, PER_HOUR)).toBe(true);
  });

  test("never has a negative used amount after a refund", () => {
    const { counters } = setUp();
    counters.add(CALLS, PER_HOUR, 1);
    counters.add(CALLS, PER_HOUR, -5);
    expect(counters.read(CALLS, PER_HOUR).used).toBe(0);
  });
});

test("the number of counters is limited", () => {
  const { counters } = setUp();
  for (let number = 0; number < 10_050; number += 1)
    counters.add({ ...CALLS, caller: `agent|${number}` }, PER_HOUR, 1);
  expect(counters.states).toHaveLength(10_000);
  expect(counters.read({ ...CALLS, caller: "agent|10049" }, PER_HOUR).used).toBe(1);
});

describe("counters of two processes", () => {
  test("have the same sum in any order of counting and saving", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ who: fc.nat(1), saves: fc.boolean() }), { maxLength: 40 }),
        (steps) => {
          const { clock } = setUp();
          const both = [new Counters(() => clock.now), new Counters(() => clock.now)];
          let file: Counters["states"] = [];
          for (const { who, saves } of steps) {
            clock.now += 1_000;
            both[who]?.add(CALLS, PER_HOUR, 1);
            if (saves) file = both[who]?.merge(file) ?? [];
          }
          for (const one of [...both, ...both]) file = one.merge(file);
          for (const one of both) expect(one.read(CALLS, PER_HOUR).used).toBe(steps.length);
        },
      ),
    );
  });

  test("drop a period that has ended", () => {
    const { clock, counters } = setUp();
    counters.add(CALLS, PER_HOUR, 4);
    const file = counters.merge([]);
    clock.now += 3_600_000;
    expect(new Counters(() => clock.now).merge(file)).toEqual([]);
  });
});
