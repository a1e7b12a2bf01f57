import { expect, test } from "vitest";
import { type ErrorCode, PortolanError, START_TIMEOUT_HINT } from "../errors/index.ts";
import { withShellHint } from "./run-command.ts";

test.each<[ErrorCode, Record<string, unknown>, RegExp]>([
  ["AUTH_REQUIRED", {}, /--header/],
  ["TIMEOUT", {}, /--timeout/],
  ["SERVER_START_FAILED", { startTimeoutMs: 300 }, /--start-timeout/],
  ["CAPABILITY_MISSING", { rpcData: { requiredCapabilities: { roots: {} } } }, /--root/],
  ["CAPABILITY_MISSING", { rpcData: { requiredCapabilities: { sampling: {} } } }, /language model/],
  ["CAPABILITY_MISSING", { rpcData: "odd" }, /cannot answer/],
])("withShellHint adds a hint for the command line to %s with data %j", (code, data, expected) => {
  const error = new PortolanError(code, "m", { data, server: "s", tool: "t", stderr: "e", cause: 1 });
  const hinted = withShellHint(error);
  expect(hinted.hint).toMatch(expected);
  expect({ ...hinted.toJSON(), hint: "" }).toEqual({ ...error.toJSON(), hint: "" });
  expect(hinted.cause).toBe(1);
});

test("the hint of a start that took too long names the option, also after other hints", () => {
  const data = { startTimeoutMs: 300 };
  const hint = `Look there. ${START_TIMEOUT_HINT}`;
  const hinted = withShellHint(new PortolanError("SERVER_START_FAILED", "m", { data, hint })).hint;
  expect(hinted).toMatch(/^Look there\. If .*--start-timeout/);
  expect(hinted).not.toContain("connectMcp");
});

test("an error with its own hint stays unchanged", () => {
  const error = new PortolanError("TIMEOUT", "m", { hint: "Look there." });
  expect(withShellHint(error)).toBe(error);
});
