import { expect, test } from "vitest";
import { guardCallback } from "./callbacks.ts";
import type { Diagnostic } from "./diagnostic.ts";

test("guardCallback reports exceptions and rejections of a callback as diagnostics, each message once", async () => {
  const found: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => void found.push(diagnostic);
  const throwing = guardCallback(
    "onEvent",
    (text: string) => {
      throw new Error(text);
    },
    report,
  );
  throwing("a");
  throwing("a");
  throwing("b");
  const rejecting = guardCallback("onStderr", async () => Promise.reject(new Error("c")), report);
  rejecting();
  await expect
    .poll(() => found.map(({ message }) => message))
    .toEqual([
      'The function "onEvent" of your program failed: a',
      'The function "onEvent" of your program failed: b',
      'The function "onStderr" of your program failed: c',
    ]);
  expect(new Set(found.map(({ code }) => code))).toEqual(new Set(["CALLBACK_FAILED"]));
  expect(found[0]?.hint).toContain("Correct the function in your program");
});
