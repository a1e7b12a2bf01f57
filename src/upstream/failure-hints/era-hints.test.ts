// Failures that the protocol era of the connection causes, with the error texts of several SDKs.

import { describe, expect, it } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { DEFAULT_LIMITS, type ServerDefinition } from "../../model/index.ts";
import { explainEraError, explainEraResult } from "./era-hints.ts";

const definition = (era: ServerDefinition["era"]): ServerDefinition => ({
  name: "dual",
  endpoint: { transport: "stdio", command: "x" },
  era,
  limits: DEFAULT_LIMITS,
});
const rpcError = (message: string, rpcCode = -32600): PortolanError =>
  new PortolanError("RPC_ERROR", message, { data: { rpcCode } });
const failed = (text: string) => ({ isError: true, content: [{ type: "text", text }] });

const REFUSALS = [
  "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.",
  "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
  "Error calling tool 'x': sampling is not supported",
  "roots/list failed: method removed",
];
const OTHERS = ["File not found", "the sampling rate was set to 5", "Elicited: yes"];

describe("era hints of a modern connection", () => {
  it.each(REFUSALS)("name the setting for the error: %s", (text) => {
    const error = explainEraError(rpcError(text), "modern", definition("auto"));
    expect(error).toMatchObject({ code: "RPC_ERROR", data: { rpcCode: -32600 } });
    expect(error.message).toMatch(/uses MCP 2026-07-28 with dual.*"era: legacy" in the config of dual/);
    const { content } = explainEraResult(failed(text), "dual") as { content: { text: string }[] };
    expect(content).toHaveLength(2);
    expect(content[1]?.text).toContain('"era: legacy"');
  });

  it.each(OTHERS)("are not added to: %s", (text) => {
    const error = rpcError(text);
    expect(explainEraError(error, "modern", definition("auto"))).toBe(error);
    const result = failed(text);
    expect(explainEraResult(result, "dual")).toBe(result);
  });
});

describe("era hints of a legacy connection", () => {
  it("name the setting if the config requires the legacy era and the server has an internal error", () => {
    const error = rpcError("Handler returned an invalid result", -32603);
    expect(explainEraError(error, "legacy", definition("legacy")).hint).toContain('"era: auto"');
    expect(explainEraError(error, "legacy", definition("auto"))).toBe(error);
  });
});
