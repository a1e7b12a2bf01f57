// Kept diagnostics: each once, in the order of the last time, within the limit.

import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { createDiagnostics } from "./diagnostics.ts";

const about = (message: string): Diagnostic => ({ code: "INTERNAL", severity: "warning", message });

test("the same diagnostic is kept once, at its last place", () => {
  const { all, add } = createDiagnostics();
  for (const message of ["a", "b", "a"]) add(about(message));
  expect(all.map(({ message }) => message)).toEqual(["b", "a"]);
});

test("different places are different diagnostics", () => {
  const { all, add } = createDiagnostics();
  for (const line of [1, 2, 1]) add({ ...about("a"), file: "x", line });
  expect(all.map(({ line }) => line)).toEqual([2, 1]);
});

test("beyond the limit, the oldest is forgotten", () => {
  const { all, add } = createDiagnostics(3);
  for (let count = 0; count < 10_000; count += 1) add(about(String(count)));
  expect(all.map(({ message }) => message)).toEqual(["9997", "9998", "9999"]);
});
