import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallRecord, Decision } from "../telemetry/index.ts";
import { CallEntries } from "./call-entry.ts";
import { MAX_LINE_BYTES } from "./line.ts";

const text = fc.oneof(fc.constantFrom("echo", "read", 'a"b\\c\n', "\u{1f600}\ud800", ""), fc.string());
const maybe = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(values, { nil: undefined });
const ALLOWED: Decision = { kind: "allowed" };

const records: fc.Arbitrary<CallRecord> = fc.record({
  id: fc.constantFrom("Ab-_9-1", "Ab-_9-2"),
  time: fc.constant("2026-11-17T09:21:14.302Z"),
  method: fc.constantFrom("tools/call", "prompts/get"),
  target: maybe(text),
  caller: text,
  client: maybe(fc.record({ name: text, version: text })),
  transport: fc.constant("http" as const),
  era: fc.constant("modern" as const),
  revision: fc.constant("2026-07-28"),
  requestId: fc.constant(1),
  server: maybe(text),
  tool: maybe(text),
  driver: maybe(text),
  decision: fc.oneof(fc.constant(ALLOWED), fc.record({ kind: fc.constant("approved" as const), by: text })),
  outcome: fc.constantFrom("ok" as const, "error" as const),
  code: maybe(text),
  rpcCode: maybe(fc.integer()),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  waitedMs: maybe(fc.double({ min: 0, max: 1e6, noNaN: true })),
  trace: maybe(fc.record({ traceId: text, spanId: text })),
  phases: fc.constant([]),
});

const cut = (value: string | undefined): string | undefined => value?.replaceAll("read", "***").slice(0, 500);
const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;

function expected(record: CallRecord, digest: string | undefined): unknown {
  const { time, id, method, target, caller, client, server, tool, driver, decision } = record;
  const { outcome, code, rpcCode, durationMs, waitedMs, trace } = record;
  const fields = {
    ...{ type: "call", time, id, method, target: cut(target), caller, client: cut(client?.name), server },
    ...{ tool: cut(tool), driver, digest, decision, outcome, code, rpcCode, durationMs: round(durationMs) },
    waitedMs: waitedMs === undefined ? undefined : round(waitedMs),
    trace: trace?.traceId,
  };
  return JSON.parse(JSON.stringify(fields));
}

test("every entry contains only the fields of its own call", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(records, maybe(fc.constant("sha256-abc"))), { maxLength: 30 }), (calls) => {
      const entries = new CallEntries((value) => value.replaceAll("read", "***"));
      for (const [record, digest] of calls)
        expect(JSON.parse(entries.textOf(record, digest))).toEqual(expected(record, digest));
    }),
  );
});

test('an entry that is too long for a line is truncated and marked with "cut"', () => {
  const [record] = fc.sample(records, 1) as [CallRecord];
  const entries = new CallEntries((value) => value);
  const long = entries.textOf({ ...record, caller: "a".repeat(MAX_LINE_BYTES) }, undefined);
  expect(long.length).toBeLessThan(MAX_LINE_BYTES);
  expect(JSON.parse(long)).toMatchObject({ type: "call", cut: true });
});

test("entries stay correct for more tools than the cache of texts holds", () => {
  const [record] = fc.sample(records, 1) as [CallRecord];
  const entries = new CallEntries((value) => value);
  for (let at = 0; at < 2_500; at += 1) {
    const one = { ...record, target: `tool-${at % 1_200}`, tool: `own-${at % 1_200}` };
    expect(JSON.parse(entries.textOf(one, undefined))).toMatchObject({ target: one.target, tool: one.tool });
  }
});
