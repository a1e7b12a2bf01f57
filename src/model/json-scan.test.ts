import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonBounds, scanJson } from "./json-scan.ts";

const WIDE: JsonBounds = { depth: 1_000, weight: 1_000_000 };
const scan = (text: string, bounds: Partial<JsonBounds> = {}): ReturnType<typeof scanJson> =>
  scanJson(Buffer.from(text), { ...WIDE, ...bounds });

/** Depth and weight of a parsed value, computed the slow way. */
function measure(value: unknown): { depth: number; weight: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, weight: 0 };
  const isArray = Array.isArray(value);
  const children = Object.values(value).map(measure);
  const separators = Math.max(0, children.length - 1);
  return {
    depth: 1 + Math.max(0, ...children.map(({ depth }) => depth)),
    weight:
      1 +
      separators +
      (isArray ? 0 : 2 * children.length) +
      children.reduce((sum, { weight }) => sum + weight, 0),
  };
}

test("any JSON value has the depth and the weight of its structure, whatever its strings hold", () => {
  const long = fc.string({ unit: fc.constantFrom("[", "{", '"', "\\", ",", ":", "é", "a"), maxLength: 200 });
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(long, { maxLength: 4 }), fc.boolean(), (value, texts, wide) => {
      const whole = [value, ...texts, Object.fromEntries(texts.map((text) => [text, text]))];
      const text = JSON.stringify(whole, undefined, wide ? 2 : undefined);
      const { depth, weight } = measure(JSON.parse(text));
      expect(scan(text)).toEqual({ weight: weight + 1, passed: undefined });
      expect(scan(text, { depth }).passed).toBeUndefined();
      expect(scan(text, { depth: depth - 1 }).passed).toBe("depth");
      expect(scan(text, { weight }).passed).toBe("weight");
    }),
  );
});

test.each([
  ["an array without an end", "[".repeat(100_000), "depth"],
  ["objects without an end", '{"a":'.repeat(100_000), "depth"],
  ["many items", `[${"1,".repeat(2_000_000)}1]`, "weight"],
  ["many members", `{${'"a":1,'.repeat(500_000)}"a":1}`, "weight"],
  ["a string without an end", `"${"\\".repeat(100_001)}`, undefined],
  ["a string of escaped quotes", `"${'\\"'.repeat(100_000)}"`, undefined],
  ["closing brackets only", "]".repeat(100_000), undefined],
  ["nothing", "", undefined],
])("%s", (_what, text, passed) => {
  expect(scan(text).passed).toBe(passed);
});
