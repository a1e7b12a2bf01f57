import { expect, test } from "vitest";
import type { JsonObject } from "../../model/index.ts";
import { pinOf } from "./tool-pin.ts";

const TOOL: JsonObject = {
  name: "add",
  title: "Add",
  description: "Adds.",
  inputSchema: { type: "object", properties: { a: { type: "number" } } },
  annotations: { readOnlyHint: true },
};

test("the order of keys does not change a pin", () => {
  expect(pinOf(Object.fromEntries(Object.entries(TOOL).toReversed()))).toBe(pinOf(TOOL));
  expect(pinOf(TOOL)).toMatch(/^p1-[\w-]{43}$/);
});

test.each<[string, JsonObject]>([
  ["description", { description: "Adds. " }],
  ["title", { title: "Sum" }],
  ["annotations", { annotations: { readOnlyHint: false } }],
  ["inputSchema", { inputSchema: { type: "object", properties: { a: { type: "string" } } } }],
  ["outputSchema", { outputSchema: { type: "object" } }],
  ["an unknown field", { execution: { taskSupport: "required" } }],
  ["resource URI of an MCP App", { _meta: { ui: { resourceUri: "ui://other" } } }],
  ["resource URI of an MCP App in the older form", { _meta: { "ui/resourceUri": "ui://other" } }],
])("another %s changes the pin", (_, change) => {
  expect(pinOf({ ...TOOL, ...change })).not.toBe(pinOf(TOOL));
});

test("other fields of _meta do not change the pin", () => {
  expect(pinOf({ ...TOOL, _meta: { "example.com/served": 7 } })).toBe(pinOf(TOOL));
});

test("a definition without a canonical form has no pin", () => {
  expect(pinOf({ name: "half", description: "\ud800" })).toBeUndefined();
});
