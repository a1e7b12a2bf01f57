import fc from "fast-check";
import { expect, test } from "vitest";
import { createGate } from "./caller-limits.ts";

test("without limits nothing is refused", () => {
  const gate = createGate(undefined, () => 0);
  for (let index = 0; index < 1_000; index += 1)
    expect(gate.count() ?? gate.enter() ?? gate.hold(1e9)).toBeUndefined();
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
  expect([gate.count(), gate.count()]).toEqual([undefined, undefined]);
  expect(gate.count()).toMatchObject({
    status: 429,
    headers: { "Retry-After": "4" },
    error: { code: "RATE_LIMITED" },
  });
  time = 1_500;
  expect(gate.count()?.headers["Retry-After"]).toBe("3");
  time = 4_000;
  expect(gate.count()).toBeUndefined();
  expect(gate.count()?.status).toBe(429);
});

test("requests of a batch run together, or none does", () => {
  const gate = createGate({ concurrency: 3 }, () => 0);
  expect(gate.enter(2)).toBeUndefined();
  expect(gate.enter(2)?.error.code).toBe("BUSY");
  expect(gate.enter(1)).toBeUndefined();
  gate.leave(3);
  expect(gate.enter(3)).toBeUndefined();
});

test("a message that is refused has not used up rate, and neither has a batch", () => {
  const gate = createGate({ rate: { perSecond: 1, burst: 3 } }, () => 0);
  expect(gate.count(4)?.error.code).toBe("RATE_LIMITED");
  expect(gate.count(0)).toBeUndefined();
  expect(gate.count(3)).toBeUndefined();
  expect(gate.count()?.error.code).toBe("RATE_LIMITED");
});

test("each server request lets one more message in, once the rate is used up", () => {
  const gate = createGate({ rate: { perSecond: 0.001, burst: 1 } }, () => 0);
  expect(gate.count()).toBeUndefined();
  gate.expectAnswer();
  gate.expectAnswer();
  expect([gate.count(), gate.count()]).toEqual([undefined, undefined]);
  expect(gate.count()?.status).toBe(429);
});

test("bytes count until they are released", () => {
  const gate = createGate({ bytes: 100 }, () => 0);
  expect(gate.hold(60)).toBeUndefined();
  expect(gate.hold(41)).toMatchObject({ status: 429, error: { code: "BUSY" } });
  expect(gate.hold(40)).toBeUndefined();
  gate.release(60);
  expect(gate.hold(60)).toBeUndefined();
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
        const refusal = gate.count();
        if (refusal === undefined) entered += 1;
        else {
          time += Number(refusal.headers["Retry-After"]) * 1_000;
          expect(gate.count()).toBeUndefined();
          entered += 1;
        }
        expect(entered).toBeLessThanOrEqual(rate.burst + (time / 1_000) * rate.perSecond + 1e-6);
      }
    }),
  );
});
