import fc from "fast-check";
import { expect, test } from "vitest";
import { createCallerLimits } from "./caller-limits.ts";

test("without limits, no request is refused", () => {
  const limits = createCallerLimits(undefined, () => 0);
  for (let index = 0; index < 1_000; index += 1)
    expect(limits.countMessages() ?? limits.startRequests() ?? limits.reserveBytes(1e9)).toBeUndefined();
});

test('the limit "concurrency" refuses more simultaneous requests', () => {
  const limits = createCallerLimits({ concurrency: 2 }, () => 0);
  expect([limits.startRequests(), limits.startRequests()]).toEqual([undefined, undefined]);
  expect(limits.startRequests()).toMatchObject({
    status: 429,
    headers: { "Retry-After": "1" },
    error: {
      code: "BUSY",
      message:
        "the gateway did not run the request: this caller may have at most 2 requests running at the same time",
    },
  });
  limits.endRequests();
  expect(limits.startRequests()).toBeUndefined();
  expect(limits.startRequests()?.status).toBe(429);
});

test("extra calls of endRequests do not raise the limit", () => {
  const limits = createCallerLimits({ concurrency: 1 }, () => 0);
  limits.endRequests();
  limits.endRequests();
  expect(limits.startRequests()).toBeUndefined();
  expect(limits.startRequests()?.status).toBe(429);
});

test("the rate limit allows a burst, and then messages at the rate", () => {
  let time = 0;
  const limits = createCallerLimits({ rate: { perSecond: 0.25, burst: 2 } }, () => time);
  expect([limits.countMessages(), limits.countMessages()]).toEqual([undefined, undefined]);
  expect(limits.countMessages()).toMatchObject({
    status: 429,
    headers: { "Retry-After": "4" },
    error: { code: "RATE_LIMITED" },
  });
  time = 1_500;
  expect(limits.countMessages()?.headers["Retry-After"]).toBe("3");
  time = 4_000;
  expect(limits.countMessages()).toBeUndefined();
  expect(limits.countMessages()?.status).toBe(429);
});

test("the requests of a batch all run, or none runs", () => {
  const limits = createCallerLimits({ concurrency: 3 }, () => 0);
  expect(limits.startRequests(2)).toBeUndefined();
  expect(limits.startRequests(2)?.error.code).toBe("BUSY");
  expect(limits.startRequests(1)).toBeUndefined();
  limits.endRequests(3);
  expect(limits.startRequests(3)).toBeUndefined();
});

test("a refused message or batch does not use up the rate", () => {
  const limits = createCallerLimits({ rate: { perSecond: 1, burst: 3 } }, () => 0);
  expect(limits.countMessages(4)?.error.code).toBe("RATE_LIMITED");
  expect(limits.countMessages(0)).toBeUndefined();
  expect(limits.countMessages(3)).toBeUndefined();
  expect(limits.countMessages()?.error.code).toBe("RATE_LIMITED");
});

test("each server request allows one more message after the rate is used up", () => {
  const limits = createCallerLimits({ rate: { perSecond: 0.001, burst: 1 } }, () => 0);
  expect(limits.countMessages()).toBeUndefined();
  limits.expectAnswer();
  limits.expectAnswer();
  expect([limits.countMessages(), limits.countMessages()]).toEqual([undefined, undefined]);
  expect(limits.countMessages()?.status).toBe(429);
});

test("bytes count towards the limit until they are released", () => {
  const limits = createCallerLimits({ bytes: 100 }, () => 0);
  expect(limits.reserveBytes(60)).toBeUndefined();
  expect(limits.reserveBytes(41)).toMatchObject({ status: 429, error: { code: "BUSY" } });
  expect(limits.reserveBytes(40)).toBeUndefined();
  limits.releaseBytes(60);
  expect(limits.reserveBytes(60)).toBeUndefined();
});

test("burst and rate are never exceeded, and a caller that waits for Retry-After is accepted", () => {
  const rate = fc.record({
    perSecond: fc.double({ min: 0.1, max: 1_000, noNaN: true }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  const pauses = fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(rate, pauses, (rate, pauses) => {
      let time = 0;
      let entered = 0;
      const limits = createCallerLimits({ rate }, () => time);
      for (const pause of pauses) {
        time += pause;
        const refusal = limits.countMessages();
        if (refusal === undefined) entered += 1;
        else {
          time += Number(refusal.headers["Retry-After"]) * 1_000;
          expect(limits.countMessages()).toBeUndefined();
          entered += 1;
        }
        expect(entered).toBeLessThanOrEqual(rate.burst + (time / 1_000) * rate.perSecond + 1e-6);
      }
    }),
  );
});
