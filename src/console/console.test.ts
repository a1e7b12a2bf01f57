// Parts of the console without a gateway: the request guard, and the time series.

import { describe, expect, it } from "vitest";
import { findForeignOrigin, isLocal } from "./request-guard.ts";
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

describe("isLocal", () => {
  const from = (remoteAddress: string | undefined, headers: Record<string, string>): boolean =>
    isLocal({ socket: { remoteAddress }, headers });

  it("accepts only requests from a loopback address, to a loopback host, without a proxy", () => {
    expect(from("127.0.0.1", { host: "127.0.0.1:7420" })).toBe(true);
    expect(from("::1", { host: "[::1]:7420" })).toBe(true);
    expect(from("::ffff:127.0.0.1", { host: "localhost:7420" })).toBe(true);
    expect(from("192.0.2.7", { host: "127.0.0.1:7420" })).toBe(false);
    expect(from("127.0.0.1", { host: "tools.example" })).toBe(false);
    expect(from("127.0.0.1", { host: "localhost", "x-forwarded-for": "192.0.2.7" })).toBe(false);
    expect(from("127.0.0.1", {})).toBe(false);
    expect(from(undefined, { host: "localhost" })).toBe(false);
  });
});

describe("the time series of calls", () => {
  it("counts calls and errors per time step, server and tool", () => {
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

  it("returns the totals of each tool, and keeps at most 100 tools", () => {
    let now = 0;
    const series = new CallSeries(() => now);
    for (let tool = 0; tool < 2_000; tool += 1) {
      now += 1_000;
      const failed = tool === 1_999;
      for (let call = 0; call <= (failed ? 3 : 0); call += 1)
        series.count({ server: "a", tool: `tool-${tool}`, durationMs: 2, failed });
    }
    const tools = series.tools("a");
    expect(tools).toHaveLength(100);
    expect(tools[0]).toMatchObject({ server: "a", tool: "tool-1999", calls: 4, errors: 4, p99: 2.33 });
    expect(series.tools("b")).toEqual([]);
    expect(series.points("a", "tool-0")).toEqual([]);
    expect(series.points("a", "tool-1990")).toHaveLength(1);
    // The server itself is used by every call, and so never dropped.
    expect(series.points("a")).toHaveLength(180);
  });

  it("drops time steps that are older than half an hour", () => {
    let now = 0;
    const series = new CallSeries(() => now);
    series.count({ server: "a", tool: "x", durationMs: 1, failed: false });
    now = 3_700_000;
    expect(series.points("a")).toEqual([]);
  });
});
