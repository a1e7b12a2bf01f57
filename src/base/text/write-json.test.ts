import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteJson, writeJson } from "./write-json.ts";

const LONG = "aB3+/=".repeat(3_000);
const longOrShort = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary" }).map((text) => LONG + text),
  fc.integer({ min: 0, max: 0x2_00 }).map((code) => LONG + String.fromCharCode(code)),
  fc.constant(`${LONG}\ud800`),
  fc.constant(LONG),
);

test("writeJson and quoteJson return the same text as JSON.stringify()", () => {
  const value = fc.oneof(
    fc.object({ values: [longOrShort, fc.integer(), fc.constant(undefined)], maxDepth: 6 }),
  );
  fc.assert(fc.property(value, (given) => writeJson(given as object) === JSON.stringify(given)));
  fc.assert(fc.property(longOrShort, (text) => quoteJson(text) === JSON.stringify(text)));
});

test.each([
  { result: { content: [{ type: "image", data: LONG, mimeType: "image/png" }], isError: undefined } },
  [LONG, undefined, null, () => 1, { a: LONG, b: () => 1, date: new Date(0), big: { toJSON: () => LONG } }],
  { ["__proto__"]: LONG, [`"${LONG}`]: LONG, many: Array.from({ length: 100 }, () => LONG) },
  { deep: { deep: { deep: { deep: { deep: { deep: LONG } } } } } },
])("writeJson equals JSON.stringify() for special values: %#", (value) => {
  // A failure would print the long strings otherwise.
  expect(writeJson(value) === JSON.stringify(value)).toBe(true);
});

test("writeJson throws a TypeError where JSON.stringify() throws one", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  expect(() => writeJson(cyclic)).toThrow(TypeError);
  expect(() => writeJson({ long: LONG, big: 1n })).toThrow(TypeError);
});
