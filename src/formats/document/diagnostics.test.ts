import { expect, test } from "vitest";
import { Diagnostics } from "./diagnostics.ts";

test("hasErrorIn is true for every value that contains an error, and not for a warning", () => {
  const diagnostics = new Diagnostics("f");
  diagnostics.add({ line: 1, column: 1, path: ["a", 0, "b/c"] }, "x");
  diagnostics.warn({ line: 1, column: 1, path: ["w"] }, "x");
  const at = (...path: (string | number)[]): boolean => diagnostics.hasErrorIn({ line: 1, column: 1, path });
  expect([at(), at("a"), at("a", 0), at("a", 0, "b/c")]).toEqual([true, true, true, true]);
  expect([at("a", 1), at("a", 0, "b"), at("w")]).toEqual([false, false, false]);
});
