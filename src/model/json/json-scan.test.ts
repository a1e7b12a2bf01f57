import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonBound, type JsonBounds, JsonScanner } from "./json-scan.ts";

const WIDE: JsonBounds = { depth: 1_000, weight: 1_000_000 };
interface Scan {
  weight: number;
  passed: JsonBound | undefined;
}

/** Scans the text in chunks of these sizes, repeated to its end, or in one chunk without sizes. */
function scan(text: string, bounds: Partial<JsonBounds> = {}, sizes: readonly number[] = []): Scan {
  const scanner = new JsonScanner({ ...WIDE, ...bounds });
  const bytes = Buffer.from(text);
  let passed: JsonBound | undefined;
  for (let at = 0, n = 0; at < bytes.length && passed === undefined; n += 1) {
    const size = sizes[n % sizes.length] ?? bytes.length;
    passed = scanner.push(bytes.subarray(at, at + size));
    at += size;
  }
  return { weight: scanner.weight, passed };
}

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

test("JsonScanner measures depth and weight of the structure for any strings and any chunk sizes", () => {
  const long = fc.string({ unit: fc.constantFrom("[", "{", '"', "\\", ",", ":", "é", "a"), maxLength: 200 });
  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 });
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.array(long, { maxLength: 4 }),
      fc.boolean(),
      cuts,
      (value, texts, wide, sizes) => {
        const whole = [value, ...texts, Object.fromEntries(texts.map((text) => [text, text]))];
        const text = JSON.stringify(whole, undefined, wide ? 2 : undefined);
        const { depth, weight } = measure(JSON.parse(text));
        expect(scan(text, {}, sizes)).toEqual({ weight: weight + 1, passed: undefined });
        expect(scan(text, { depth }, sizes).passed).toBeUndefined();
        expect(scan(text, { depth: depth - 1 }, sizes).passed).toBe("depth");
        expect(scan(text, { weight }, sizes).passed).toBe("weight");
      },
    ),
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
])("JsonScanner finds the exceeded limit: %s", (_what, text, passed) => {
  expect(scan(text).passed).toBe(passed);
});
