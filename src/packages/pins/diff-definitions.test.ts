import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../model/index.ts";
import { changedFields, diffDefinitions } from "./diff-definitions.ts";
import { pinOf } from "./tool-pin.ts";

const TOOL: JsonObject = {
  name: "add",
  description: "Adds.",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
};

test.each<[string, JsonObject, unknown]>([
  ["a text", { description: "Sums." }, [{ path: "description", before: "Adds.", after: "Sums." }]],
  [
    "a new field",
    { annotations: { destructiveHint: true } },
    [{ path: "annotations", before: undefined, after: { destructiveHint: true } }],
  ],
  [
    "a removed field",
    { description: undefined },
    [{ path: "description", before: "Adds.", after: undefined }],
  ],
  [
    "a part of a schema",
    { inputSchema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    [{ path: "inputSchema.properties.a.type", before: "number", after: "string" }],
  ],
  [
    "the length of a list",
    { inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a", "b"] } },
    [{ path: "inputSchema.required", before: ["a"], after: ["a", "b"] }],
  ],
  ["fields that a pin does not cover", { _meta: { at: 7 } }, []],
  [
    "the resource URI of an MCP App",
    { _meta: { "ui/resourceUri": "ui://x" } },
    [{ path: "_meta", before: undefined, after: { "ui/resourceUri": "ui://x" } }],
  ],
])("diffDefinitions() handles %s", (_, change, expected) => {
  expect(diffDefinitions(TOOL, { ...TOOL, ...change })).toEqual(expected);
});

test("changedFields() names each changed top-level field once", () => {
  expect(
    changedFields(TOOL, { ...TOOL, description: "x", inputSchema: { type: "array", properties: {} } }),
  ).toEqual(["description", "inputSchema"]);
});

test("two definitions have a difference if and only if their pins differ", () => {
  const definition = fc.record({ name: fc.constant("t"), description: fc.jsonValue(), x: fc.jsonValue() });
  fc.assert(
    fc.property(definition, definition, (a, b) => {
      const [one, two] = [pinOf(a), pinOf(b)];
      if (one === undefined || two === undefined) return;
      expect(diffDefinitions(a, b).length > 0).toBe(one !== two);
    }),
  );
});
