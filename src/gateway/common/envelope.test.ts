import { describe, expect, it } from "vitest";
import { META } from "../../model/index.ts";
import { declaresRevision, readEnvelope, withoutEnvelope } from "./envelope.ts";
import { RpcRefusal } from "./messages.ts";

const FULL = {
  [META.PROTOCOL_VERSION]: "2026-07-28",
  [META.CLIENT_CAPABILITIES]: { roots: {} },
  [META.CLIENT_INFO]: { name: "c", version: "1" },
  [META.LOG_LEVEL]: "warning",
  progressToken: 0,
};

it("readEnvelope reads capabilities, client, log level and progress token", () => {
  expect(readEnvelope({ _meta: FULL })).toEqual({
    capabilities: { roots: {} },
    clientInfo: { name: "c", version: "1" },
    logLevel: "warning",
    progressToken: 0,
  });
  expect(declaresRevision({ _meta: FULL })).toBe(true);
  expect(declaresRevision({ _meta: { progressToken: 1 } })).toBe(false);
  expect(declaresRevision(undefined)).toBe(false);
});

it("readEnvelope truncates name, title and version of the client", () => {
  const long = "x".repeat(1_500_000);
  const read = (clientInfo: unknown) =>
    readEnvelope({ _meta: { ...FULL, [META.CLIENT_INFO]: clientInfo } }).clientInfo;
  expect(read({ name: long, title: long, version: long, websiteUrl: "https://a.example" })).toEqual({
    name: "x".repeat(200),
    title: "x".repeat(200),
    version: "x".repeat(200),
    websiteUrl: "https://a.example",
  });
  expect(read({ name: { deep: long }, version: 1 })).toMatchObject({ name: "unnamed", version: "unknown" });
  expect(read("c")).toBeUndefined();
});

describe("readEnvelope refuses an envelope", () => {
  const without = (key: string): object => ({ ...FULL, [key]: undefined });
  it.each<[string, unknown, number]>([
    ["that is missing", undefined, -32602],
    ["that is not an object", [], -32602],
    ["without a protocol version", without(META.PROTOCOL_VERSION), -32602],
    ["without capabilities", without(META.CLIENT_CAPABILITIES), -32602],
    ["with an unknown log level", { ...FULL, [META.LOG_LEVEL]: "loud" }, -32602],
    ["with another protocol version", { ...FULL, [META.PROTOCOL_VERSION]: "2025-11-25" }, -32022],
  ])("%s", (_what, _meta, code) => {
    let refused: unknown;
    try {
      readEnvelope({ _meta });
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(RpcRefusal);
    expect((refused as RpcRefusal).error.code).toBe(code);
  });

  it("with a long unknown version, which the error message truncates", () => {
    expect(() => readEnvelope({ _meta: { ...FULL, [META.PROTOCOL_VERSION]: "x".repeat(1_000) } })).toThrow(
      /^Unsupported protocol version: x{100}$/,
    );
  });
});

it("withoutEnvelope removes the envelope and keeps other metadata", () => {
  expect(withoutEnvelope(undefined)).toEqual({});
  expect(withoutEnvelope({ name: "t", _meta: FULL })).toEqual({ name: "t" });
  expect(withoutEnvelope({ name: "t", _meta: { ...FULL, traceparent: "00", "a/b": { c: 1 } } })).toEqual({
    name: "t",
    _meta: { traceparent: "00", "a/b": { c: 1 } },
  });
  const params = { name: "t" };
  expect(withoutEnvelope(params)).toBe(params);
});
