import fc from "fast-check";
import { expect, test } from "vitest";
import { createGate } from "./gate.ts";

test("without limits everything enters", () => {
  const gate = createGate(undefined, () => 0);
  for (let index = 0; index < 1_000; index += 1) expect(gate.enter()).toBeUndefined();
});

test("as many at once as concurrency says", () => {
  const gate = createGate({ concurrency: 2 }, () => 0);
  expect([gate.enter(), gate.enter()]).toEqual([undefined, undefined]);
  expect(gate.enter()).toMatchObject({
    status: 429,
    headers: { "Retry-After": "1" },
    error: { code: "BUSY", message: "this caller already has 2 requests running" },
  });
  gate.leave();
  expect(gate.enter()).toBeUndefined();
  expect(gate.enter()?.status).toBe(429);
});

test("more leaves than enters give nothing", () => {
  const gate = createGate({ concurrency: 1 }, () => 0);
  gate.leave();
  gate.leave();
  expect(gate.enter()).toBeUndefined();
  expect(gate.enter()?.status).toBe(429);
});

test("a burst, then as fast as the rate", () => {
  let time = 0;
  const gate = createGate({ rate: { perSecond: 0.25, burst: 2 } }, () => time);
  expect([gate.enter(), gate.enter()]).toEqual([undefined, undefined]);
  expect(gate.enter()).toMatchObject({
    status: 429,
    headers: { "Retry-After": "4" },
    error: { code: "RATE_LIMITED" },
  });
  time = 1_500;
  expect(gate.enter()?.headers["Retry-After"]).toBe("3");
  time = 4_000;
  expect(gate.enter()).toBeUndefined();
  expect(gate.enter()?.status).toBe(429);
});

test("who is refused for concurrency has not used up rate", () => {
  const gate = createGate({ concurrency: 1, rate: { perSecond: 1, burst: 2 } }, () => 0);
  expect(gate.enter()).toBeUndefined();
  for (let index = 0; index < 5; index += 1) expect(gate.enter()?.error.code).toBe("BUSY");
  gate.leave();
  expect(gate.enter()).toBeUndefined();
});

test("whatever the pace, no more than burst and rate allow, and who waits as told gets in", () => {
  const rate = fc.record({
    perSecond: fc.double({ min: 0.1, max: 1_000, noNaN: true }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  const pauses = fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(rate, pauses, (rate, pauses) => {
      let time = 0;
      let entered = 0;
      const gate = createGate({ rate }, () => time);
      for (const pause of pauses) {
        time += pause;
        const refusal = gate.enter();
        if (refusal === undefined) entered += 1;
        else {
          time += Number(refusal.headers["Retry-After"]) * 1_000;
          expect(gate.enter()).toBeUndefined();
          entered += 1;
        }
        expect(entered).toBeLessThanOrEqual(rate.burst + (time / 1_000) * rate.perSecond + 1e-6);
      }
    }),
  );
});
