import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { clientErrorType, serverErrorType, spanName } from "./attributes.ts";
import { argumentDigest } from "./digest.ts";
import { createCallMetrics } from "./metrics/call-metrics.ts";
import { Histogram, writeGauge } from "./metrics/registry.ts";
import { CallObservers, type RequestStart } from "./observers.ts";
import type { CallRecord, Phase } from "./record.ts";

const START: RequestStart = {
  method: "tools/call",
  params: { name: "mcp_one_echo", arguments: { b: 1, a: 2 } },
  requestId: 1,
  caller: "local",
  transport: "http",
  era: "modern",
  revision: "2026-07-28",
};

describe("CallObservers", () => {
  test("is not active without observers", () => {
    const calls = new CallObservers();
    expect([calls.active, calls.traces]).toEqual([false, false]);
    calls.add({})();
    expect(calls.active).toBe(false);
  });

  test("timeOf returns ISO times in any order of calls", () => {
    const calls = new CallObservers();
    const start = Date.UTC(2026, 10, 18, 23, 59, 59, 998);
    for (const ms of [start, start + 1, start + 2, start + 900, start - 1, start + 86_400_000, 0])
      expect(calls.timeOf(ms)).toBe(new Date(ms).toISOString());
  });

  test("gives each observer one record per request, with its phases", async () => {
    const calls = new CallObservers();
    const records: CallRecord[] = [];
    const phases: Phase[] = [];
    calls.add({ ended: (record) => records.push(record), phase: (phase) => phases.push(phase) });
    calls.add({ needs: { sizes: true, phases: true } });
    const observation = calls.begin(START);
    const hub = observation.phase({ name: "hub", method: "tools/call" });
    observation.routed("one", "echo");
    const upstream = observation.phase({ name: "upstream", method: "tools/call", target: "echo" });
    upstream.sent(7);
    upstream.succeeded({ isError: true });
    hub.succeeded({ isError: true });
    observation.succeeded({ isError: true });
    observation.finish();
    observation.finish();
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      ...{ method: "tools/call", target: "mcp_one_echo", caller: "local", server: "one", tool: "echo" },
      ...{ outcome: "tool_error", decision: { kind: "allowed" }, inputBytes: 13, outputBytes: 16 },
      phases: [
        { name: "upstream", server: "one", target: "echo", requestId: 7, outcome: "tool_error" },
        { name: "hub", outcome: "tool_error" },
      ],
    });
    expect(observation.digest).toBe(argumentDigest({ a: 2, b: 1 }));
    expect(phases).toEqual(records[0]?.phases);
  });

  test("reports phases to observers that do not need them, and does not keep them in the record", () => {
    const calls = new CallObservers();
    const records: CallRecord[] = [];
    const phases: Phase[] = [];
    calls.add({ ended: (record) => records.push(record), phase: (phase) => phases.push(phase) });
    const observation = calls.begin(START);
    expect(observation.hasPhases).toBe(false);
    observation.phase({ name: "upstream", method: "tools/call" }).succeeded({});
    observation.finish();
    expect(phases.map(({ name }) => name)).toEqual(["upstream"]);
    expect(records.map((record) => record.phases)).toEqual([[]]);
  });

  test("a phase that ends after its request belongs to the continuing request", () => {
    const calls = new CallObservers();
    const records: CallRecord[] = [];
    calls.add({ needs: { phases: true }, ended: (record) => records.push(record) });
    const first = calls.begin(START);
    first.routed("one", "ask");
    const upstream = first.phase({ name: "upstream", method: "tools/call" });
    first.succeeded({ resultType: "input_required" });
    first.finish();
    const second = calls.begin(START);
    first.continueAs(second);
    upstream.succeeded({});
    second.succeeded({});
    second.finish();
    expect(records.map(({ outcome, server, phases }) => [outcome, server, phases.length])).toEqual([
      ["input_required", "one", 0],
      ["ok", "one", 1],
    ]);
    expect(records[1]?.phases[0]?.startMs).toBe(0);
  });

  test("records the time of a wait for approval, also if the next request continues the wait", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const calls = new CallObservers();
    const records: CallRecord[] = [];
    calls.add({ ended: (record) => records.push(record) });
    const plain = calls.begin(START);
    vi.advanceTimersByTime(5);
    plain.finish();
    const first = calls.begin(START);
    vi.advanceTimersByTime(10);
    first.waits();
    vi.advanceTimersByTime(40_000);
    first.succeeded({ resultType: "input_required" });
    first.finish();
    const second = calls.begin(START);
    first.continueAs(second);
    vi.advanceTimersByTime(2_000);
    first.resumed();
    vi.advanceTimersByTime(30);
    second.finish();
    expect(records.map(({ durationMs, waitedMs }) => [durationMs, waitedMs])).toEqual([
      [5, undefined],
      [40_010, 40_000],
      [2_030, 2_000],
    ]);
  });

  test("records the error code and the JSON-RPC code of a failed request", () => {
    const calls = new CallObservers();
    const records: CallRecord[] = [];
    calls.add({ ended: (record) => records.push(record) });
    for (const [error, code] of [
      [new PortolanError("TIMEOUT", "too slow"), -32603],
      [new PortolanError("CANCELLED", "enough"), undefined],
      [new Error("odd"), -32602],
    ] as const) {
      const observation = calls.begin(START);
      observation.failed(error, code);
      observation.finish();
    }
    expect(records.map(({ outcome, code, rpcCode, reason }) => [outcome, code, rpcCode, reason])).toEqual([
      ["error", "TIMEOUT", -32603, "too slow"],
      ["cancelled", "CANCELLED", undefined, "enough"],
      ["error", undefined, -32602, "odd"],
    ]);
  });
});

test("argumentDigest is the same for equal arguments, and differs for other arguments", () => {
  expect(argumentDigest(undefined)).toBe(argumentDigest({}));
  expect(argumentDigest({ a: "\ud800" })).toBeUndefined();
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (args, text) => {
      const reversed = Object.fromEntries(Object.entries(args).toReversed());
      expect(argumentDigest(reversed)).toBe(argumentDigest(args));
      if (args.added !== text && text.isWellFormed() && argumentDigest(args) !== undefined)
        expect(argumentDigest({ ...args, added: text })).not.toBe(argumentDigest(args));
    }),
    { numRuns: 100 },
  );
});

test.each([
  [{ outcome: "ok" }, undefined, undefined],
  [{ outcome: "input_required" }, undefined, undefined],
  [{ outcome: "tool_error" }, "tool_error", "tool_error"],
  [{ outcome: "cancelled" }, "cancelled", "cancelled"],
  ...[-32_700, -32_600, -32_601, -32_602, -32_002].map(
    (rpcCode) => [{ outcome: "error", rpcCode }, undefined, String(rpcCode)] as const,
  ),
  [{ outcome: "error", rpcCode: -32_603 }, "-32603", "-32603"],
  [{ outcome: "error", code: "TIMEOUT" }, "_OTHER", "timeout"],
] as const)("error.type of %j is %s for a server and %s for a client", (ending, server, client) => {
  expect(serverErrorType(ending as Phase)).toBe(server);
  expect(clientErrorType(ending as Phase)).toBe(client);
});

test("span names contain tools and prompts, but no URIs and no unknown methods", () => {
  expect(spanName("tools/call", "a")).toBe("tools/call a");
  expect(spanName("prompts/get", "a")).toBe("prompts/get a");
  expect(spanName("resources/read", "file:///a")).toBe("resources/read");
  expect(spanName("made/up", undefined)).toBe("_OTHER");
});

describe("Prometheus metrics", () => {
  test("buckets are cumulative, and labels are escaped", () => {
    const histogram = new Histogram("x_seconds", "Help.", [1, 2]);
    for (const value of [0.5, 1, 1.5, 3])
      histogram.record(
        histogram.series("k", () => ({ "a.b": 'q"\\\n' })),
        value,
      );
    const lines: string[] = [];
    histogram.write(lines);
    const labels = String.raw`a_b="q\"\\\n"`;
    expect(lines).toEqual([
      "# HELP x_seconds Help.",
      "# TYPE x_seconds histogram",
      `x_seconds_bucket{${labels},le="1"} 2`,
      `x_seconds_bucket{${labels},le="2"} 3`,
      `x_seconds_bucket{${labels},le="+Inf"} 4`,
      `x_seconds_sum{${labels}} 6`,
      `x_seconds_count{${labels}} 4`,
    ]);
    const gauges: string[] = [];
    writeGauge({ name: "g", help: "Help.", type: "gauge", samples: [{ value: 1 }] }, gauges);
    expect(gauges).toEqual(["# HELP g Help.", "# TYPE g gauge", "g 1"]);
  });

  test("the number of series is limited, and a name that no server has creates no series", () => {
    const metrics = createCallMetrics();
    const calls = new CallObservers();
    calls.add(metrics);
    const call = (method: string, name: string, server?: string): void => {
      const observation = calls.begin({ ...START, method, params: { name } });
      if (server !== undefined) observation.routed(server, name);
      observation.finish();
    };
    for (let at = 0; at < 100; at += 1) {
      call("tools/call", `invented-${at}`);
      call(`invented/${at}`, "x");
    }
    expect(metrics.server.snapshot().map(({ count }) => count)).toEqual([100, 100]);
    for (let at = 0; at < 3_000; at += 1) call("tools/call", `tool-${at}`, "one");
    const series = metrics.server.snapshot();
    expect(series).toHaveLength(2_001);
    expect(series.at(-1)).toMatchObject({ labels: 'otel_metric_overflow="true"', count: 1_002 });
    expect(series.reduce((sum, { count }) => sum + count, 0)).toBe(3_200);
  });

  test("tool calls are counted per caller, and OAuth users are counted together", () => {
    const metrics = createCallMetrics();
    const calls = new CallObservers();
    calls.add(metrics);
    const call = (caller: string, method = "tools/call", error?: PortolanError): void => {
      const observation = calls.begin({ ...START, method, caller });
      if (error !== undefined) observation.failed(error);
      observation.finish();
    };
    call("local");
    call("local", "tools/list");
    call("ci");
    call("ci", "tools/call", new PortolanError("TIMEOUT", "late"));
    for (let at = 0; at < 5_000; at += 1) {
      call(`people|oauth:https://issuer.example|${at}`);
      call(`oauth:https://issuer.example|${at}`);
    }
    const lines = metrics.text([]).split("\n");
    expect(lines.filter((line) => line.startsWith("portolan_calls_total"))).toEqual([
      'portolan_calls_total{caller="local",outcome="ok"} 1',
      'portolan_calls_total{caller="ci",outcome="ok"} 1',
      'portolan_calls_total{caller="ci",outcome="error"} 1',
      'portolan_calls_total{caller="people",outcome="ok"} 5000',
      'portolan_calls_total{caller="oauth",outcome="ok"} 5000',
    ]);
  });
});
