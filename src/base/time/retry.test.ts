import { expect, test } from "vitest";
import { backoffMs, retryAfterMs } from "./retry.ts";

test("backoffMs doubles the delay with every failure, up to its limit", () => {
  expect([0, 1, 2, 3, 6, 7, 5_000].map((failures) => backoffMs(failures, 500, 30_000))).toEqual([
    500, 1_000, 2_000, 4_000, 30_000, 30_000, 30_000,
  ]);
});

test("retryAfterMs reads a number of seconds or a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(retryAfterMs("7", now)).toBe(7_000);
  expect(retryAfterMs(["3", "9"], now)).toBe(3_000);
  expect(retryAfterMs("Thu, 01 Jan 2026 00:00:30 GMT", now)).toBe(30_000);
  expect(retryAfterMs("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
  expect(retryAfterMs(undefined, now)).toBeUndefined();
  expect(retryAfterMs("soon", now)).toBeUndefined();
});
