// Parts of the console without a gateway: the request guard, and the time series.

import { describe, expect, it } from "vitest";
import { findForeignOrigin } from "./request-guard.ts";
import { CallSeries } from "./series.ts";

describe("the request guard", () => {
  const host = "127.0.0.1:7420";

  it.each([
    ["POST", { host, origin: "http://127.0.0.1:7420", "sec-fetch-site": "same-origin" }],
    ["POST", { host, origin: "http://127.0.0.1:7420" }],
    ["POST", { host: "tools.example", origin: "https://tools.example" }],
    ["POST", { host: "[::1]:7420", origin: "http://[::1]:7420" }],
    ["GET", { host }],
  ])("accepts the console's own page: %s %j", (method, headers) => {
    expect(findForeignOrigin(method, headers)).toBeUndefined();
  });

  it.each([
    ["POST", { host }],
    ["POST", { host, origin: "null" }],
    ["POST", { host, origin: "http://127.0.0.1:7421" }],
    ["POST", { host, origin: "http://localhost:7420" }],
    ["POST", { host, origin: "file://127.0.0.1:7420" }],
    ["POST", { host, origin: "http://127.0.0.1:7420.evil.example" }],
    ["GET", { host, "sec-fetch-site": "cross-site" }],
    ["GET", { host, "sec-fetch-site": "same-site" }],
    ["GET", { host, "sec-fetch-site": "none" }],
    ["GET", { host, origin: "http://evil.example" }],
  ])("refuses other pages: %s %j", (method, headers) => {
    expect(findForeignOrigin(method, headers)).toBeTypeOf("string");
  });
});

describe("the time series", () => {
  it("counts calls and errors in steps, per server and tool", () => {
    let now = 1_000_000;
    const series = new CallSeries(() => now);
    for (let ms = 1; ms <= 100; ms += 1)
      series.count({ server: "a", tool: "x", durationMs: ms, failed: ms > 90 });
    now += 10_000;
    series.count({ server: "a", tool: "y", durationMs: 5, failed: false });
    const [first, second] = series.points("a");
    expect(first).toMatchObject({ time: 1_000_000, calls: 100, errors: 10 });
    expect(second).toMatchObject({ time: 1_010_000, calls: 1, errors: 0 });
    expect(series.points("a", "x")).toHaveLength(1);
    expect(series.points("b")).toEqual([]);
    expect(series.points()).toHaveLength(2);
    // Percentiles are at most a quarter too high.
    for (const [found, exact] of [
      [first?.p50, 50],
      [first?.p95, 95],
      [first?.p99, 99],
    ] as const) {
      expect(found).toBeGreaterThanOrEqual(exact);
      expect(found).toBeLessThanOrEqual(exact * 1.25);
    }
  });

  it("forgets steps that are older than an hour", () => {
    let now = 0;
    const series = new CallSeries(() => now);
    series.count({ server: "a", tool: "x", durationMs: 1, failed: false });
    now = 3_700_000;
    expect(series.points("a")).toEqual([]);
  });
});
