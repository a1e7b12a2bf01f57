// List of diagnostics: each once, in the order of the last report, up to a limit.

import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { createDiagnostics } from "./diagnostics.ts";

const about = (message: string): Diagnostic => ({ code: "INTERNAL", severity: "warning", message });

test("a repeated diagnostic is kept once, at the place of its last report", () => {
  const { all, add } = createDiagnostics();
  for (const message of ["a", "b", "a"]) add(about(message));
  expect(all.map(({ message }) => message)).toEqual(["b", "a"]);
});

test("the same message at another line is another diagnostic", () => {
  const { all, add } = createDiagnostics();
  for (const line of [1, 2, 1]) add({ ...about("a"), file: "x", line });
  expect(all.map(({ line }) => line)).toEqual([2, 1]);
});

test("beyond the limit, the oldest diagnostic is removed", () => {
  const { all, add } = createDiagnostics(3);
  for (let count = 0; count < 10_000; count += 1) add(about(String(count)));
  expect(all.map(({ message }) => message)).toEqual(["9997", "9998", "9999"]);
});
