import { expect, test } from "vitest";
import { asText, valueAt, withoutPath } from "./values.ts";

test("valueAt() returns the value at a path, and no inherited properties", () => {
  const args = { a: { b: 1, n: null }, list: [1] };
  expect(valueAt(args, ["a", "b"])).toBe(1);
  expect(valueAt(args, ["a", "n"])).toBeUndefined();
  expect(valueAt(args, ["list", "length"])).toBeUndefined();
  for (const name of ["constructor", "__proto__", "toString"]) {
    expect(valueAt(args, [name])).toBeUndefined();
    expect(valueAt(args, ["a", name])).toBeUndefined();
  }
});

test("withoutPath() removes the value at a path, and parents that become empty", () => {
  const args = { a: { b: { c: 1 } }, d: { e: 1, f: 2 } };
  expect(withoutPath(args, ["a", "b", "c"])).toEqual({ d: { e: 1, f: 2 } });
  expect(withoutPath(args, ["d", "e"])).toEqual({ a: { b: { c: 1 } }, d: { f: 2 } });
  expect(withoutPath(args, ["d"])).toEqual({ a: { b: { c: 1 } } });
  for (const path of [["x"], ["a", "x"], ["d", "e", "x"], ["toString"]])
    expect(withoutPath(args, path)).toBe(args);
  expect(args).toEqual({ a: { b: { c: 1 } }, d: { e: 1, f: 2 } });
});

test.each([
  [3.5, "3.5"],
  [1_000_000, "1000000"],
  [1e21, "1e+21"],
  [-0, "0"],
  [true, "true"],
  ["x", "x"],
  [{ a: [1] }, '{"a":[1]}'],
])("asText() writes %j as text", (value, text) => {
  expect(asText(value)).toBe(text);
});
