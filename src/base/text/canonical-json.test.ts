import fc from "fast-check";
import { expect, test } from "vitest";
import { toCanonicalJson } from "./canonical-json.ts";

test("serializes the sample of RFC 8785", () => {
  const sample = {
    numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  expect(toCanonicalJson(sample)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test("keys are sorted by UTF-16 code units", () => {
  const keys = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
  const text = toCanonicalJson(Object.fromEntries(keys.map((key) => [key, 0])));
  expect(Object.keys(JSON.parse(text ?? "{}") as object).filter((key) => key !== "1")).toEqual([
    "\r",
    "\u0080",
    "\u00f6",
    "\u20ac",
    "\ud83d\ude00",
    "\ufb33",
  ]);
});

test.each([[Number.NaN], [Infinity], ["\ud800"], [{ "\udc00": 1 }], [[undefined]], [() => 1]])(
  "%j has no canonical form",
  (value) => {
    expect(toCanonicalJson(value)).toBeUndefined();
  },
);

test("a value that is nested too deeply has no canonical form", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  expect(toCanonicalJson(nested(100))).toBeDefined();
  expect(toCanonicalJson(nested(200))).toBeUndefined();
});

test("the order of keys has no effect on the text, and the text contains the whole value", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, inner]) => [key, shuffled(inner)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = toCanonicalJson(value);
      expect(toCanonicalJson(shuffled(value))).toBe(text);
      expect(JSON.parse(text ?? "")).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
