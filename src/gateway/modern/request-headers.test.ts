import { describe, expect, it } from "vitest";
import type { HubView } from "../../hub/index.ts";
import { META, type JsonObject } from "../../model/index.ts";
import { checkHeaders } from "./request-headers.ts";

const string = { type: "string" };
const VIEW = {
  table: {
    tools: [
      { name: "plain", inputSchema: { type: "object" } },
      {
        name: "t",
        inputSchema: {
          type: "object",
          properties: {
            region: { ...string, "x-mcp-header": "Region" },
            count: { type: "integer", "x-mcp-header": "Count" },
            dry: { type: "boolean", "x-mcp-header": "Dry" },
          },
        },
      },
    ],
  },
} as unknown as HubView;

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

function check(method: string, params: JsonObject, headers: Record<string, string>): string {
  const meta = { [META.PROTOCOL_VERSION]: "2026-07-28" };
  const message = { jsonrpc: "2.0" as const, id: 1, method, params: { ...params, _meta: meta } };
  try {
    checkHeaders({ "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...headers }, message, VIEW);
    return "fine";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("checkHeaders", () => {
  it.each<[string, JsonObject, Record<string, string>]>([
    ["tools/list", {}, {}],
    ["tools/list", {}, { "mcp-name": "anything" }],
    ["tools/call", { name: "plain" }, { "mcp-name": "plain" }],
    ["tools/call", { name: "é" }, { "mcp-name": base64("é") }],
    ["prompts/get", { name: "p" }, { "mcp-name": "p" }],
    ["resources/read", { uri: "a:b c" }, { "mcp-name": "a:b c" }],
    ["tasks/get", { taskId: "one.1" }, { "mcp-name": "one.1" }],
    ["tools/call", { name: "t", arguments: {} }, { "mcp-name": "t" }],
    [
      "tools/call",
      { name: "t", arguments: { region: "eu", count: 5, dry: false } },
      { "mcp-name": "t", "mcp-param-region": "eu", "mcp-param-count": "5", "mcp-param-dry": "false" },
    ],
    [
      "tools/call",
      { name: "t", arguments: { region: "dé" } },
      { "mcp-name": "t", "mcp-param-region": base64("dé") },
    ],
    ["tools/call", { name: "t", arguments: { region: null } }, { "mcp-name": "t" }],
  ])("accepts headers that match the body: %s %j", (method, params, headers) => {
    expect(check(method, params, headers)).toBe("fine");
  });

  it.each<[string, JsonObject, Record<string, string>, RegExp]>([
    ["tools/list", {}, { "mcp-method": "tools/call" }, /Mcp-Method header is "tools\/call"/],
    ["tools/list", {}, { "mcp-protocol-version": "2025-11-25" }, /MCP-Protocol-Version/],
    ["tools/call", { name: "plain" }, {}, /Mcp-Name header is missing/],
    ["tools/call", { name: "plain" }, { "mcp-name": "t" }, /Mcp-Name/],
    ["tools/call", { name: "plain" }, { "mcp-name": "PLAIN" }, /Mcp-Name/],
    ["tools/call", { name: "plain" }, { "mcp-name": "=?base64?***?=" }, /Mcp-Name/],
    ["resources/read", { uri: "a:b" }, { "mcp-name": "a:c" }, /Mcp-Name/],
    [
      "tools/call",
      { name: "t", arguments: { region: "eu" } },
      { "mcp-name": "t" },
      /Mcp-Param-Region header is missing/,
    ],
    [
      "tools/call",
      { name: "t", arguments: {} },
      { "mcp-name": "t", "mcp-param-region": "eu" },
      /the body has no such value/,
    ],
    [
      "tools/call",
      { name: "t", arguments: { region: "eu" } },
      { "mcp-name": "t", "mcp-param-region": "us" },
      /Region/,
    ],
    [
      "tools/call",
      { name: "t", arguments: { count: 5 } },
      { "mcp-name": "t", "mcp-param-count": "" },
      /Count/,
    ],
    [
      "tools/call",
      { name: "t", arguments: { count: 5 } },
      { "mcp-name": "t", "mcp-param-count": "6" },
      /Count/,
    ],
    [
      "tools/call",
      { name: "t", arguments: { dry: true } },
      { "mcp-name": "t", "mcp-param-dry": "false" },
      /Dry/,
    ],
  ])("refuses headers that differ from the body: %s %j", (method, params, headers, message) => {
    expect(check(method, params, headers)).toMatch(message);
  });
});
