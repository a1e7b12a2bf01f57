// Exit codes of contract calls.

import { expect, test } from "vitest";
import { exitOfResult } from "./contract-call.ts";

test.each([
  ["auth_required", 5],
  ["auth_failed", 5],
  ["timeout", 124],
  ["cancelled", 130],
  ["input_invalid", 2],
  ["input_unsupported", 2],
  ["no_route", 3],
  ["tool_unavailable", 3],
  ["pinned_provider_unavailable", 3],
  ["upstream_error", 1],
  ["unauthorised", 1],
  ["internal", 1],
  ["x:own", 1],
  ["constructor:", 1],
] as const)("the error code %s gives the exit code %i", (code, exit) => {
  expect(
    exitOfResult({ content: [], isError: true, _meta: { "portolan/error": { code, message: "" } } }),
  ).toBe(exit);
});

test("a success gives the exit code 0, and an error without a contract error code gives 1", () => {
  expect(exitOfResult({ content: [] })).toBe(0);
  expect(exitOfResult({ content: [], isError: true })).toBe(1);
  expect(exitOfResult({ content: [], isError: true, _meta: { "portolan/error": null } })).toBe(1);
  // A successful call has the exit code 0.
  expect(exitOfResult({ content: [], _meta: { "portolan/error": { code: "timeout" } } })).toBe(0);
});
