import { expect, it } from "vitest";
import { forLegacy } from "./downgrade.ts";

it("forLegacy returns results unchanged that legacy clients support", () => {
  for (const result of [{ content: [] }, { content: [], structuredContent: { a: 1 } }, { contents: [] }])
    expect(forLegacy("tools/call", result)).toBe(result);
});

it("forLegacy turns structured content that is not an object into text, unless the text exists", () => {
  expect(forLegacy("tools/call", { structuredContent: [1, 2], "x-y": 1 })).toEqual({
    content: [{ type: "text", text: "[1,2]" }],
    "x-y": 1,
  });
  const content = [{ type: "text", text: "[ 1,\n 2 ]" }];
  expect(forLegacy("tools/call", { content, structuredContent: [1, 2] })).toEqual({ content });
  const other = [{ type: "text", text: "other" }];
  expect(forLegacy("tools/call", { content: other, structuredContent: null })).toEqual({ content: other });
  expect(forLegacy("tools/call", { content: [], structuredContent: null })).toEqual({
    content: [{ type: "text", text: "null" }],
  });
});

it("forLegacy removes output schemas that are not of type object, and caches the list", () => {
  const fine = { name: "a", inputSchema: {}, outputSchema: { type: "object" } };
  const plain = { tools: [fine, { name: "b", inputSchema: {} }] };
  expect(forLegacy("tools/list", plain)).toBe(plain);
  const odd = {
    tools: [fine, { name: "c", "x-y": 1, outputSchema: { type: "array" } }, { name: "d", outputSchema: {} }],
    ttlMs: 1,
  };
  const given = forLegacy("tools/list", odd);
  expect(given).toEqual({ tools: [fine, { name: "c", "x-y": 1 }, { name: "d" }], ttlMs: 1 });
  expect(forLegacy("tools/list", odd)).toBe(given);
});
