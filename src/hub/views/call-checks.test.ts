import { describe, expect, test } from "vitest";
import type { Call } from "../../upstream/index.ts";
import { CallChecks, type RoutedCall } from "./call-checks.ts";

const call: Call = { method: "tools/call", params: { name: "files_read" } };
const isContract = false;
const tool: RoutedCall["tool"] = {
  name: "mcp_files_read",
  own: "read",
  alias: "files",
  tags: [],
  annotations: undefined,
};

describe("checks of a call", () => {
  test("run in order, receive the tool, and can change the call", async () => {
    const checks = new CallChecks();
    const seen: unknown[] = [];
    checks.add((routed, send) => {
      seen.push(routed.tool.name, routed.call.timeoutMs);
      return send({ ...routed.call, timeoutMs: 1 });
    });
    checks.add((routed, send) => {
      seen.push(routed.call.timeoutMs);
      return send({ ...routed.call, maxTimeoutMs: 2 });
    });
    const result = await checks.run({ call, tool, isContract }, async (sent) => ({ sent }));
    expect(seen).toEqual(["mcp_files_read", undefined, 1]);
    expect(result.sent).toMatchObject({ timeoutMs: 1, maxTimeoutMs: 2 });
  });

  test("may return a result in place of the server", async () => {
    const checks = new CallChecks();
    checks.add(async () => ({ isError: true }));
    checks.add(async () => Promise.reject(new Error("the second check must not run")));
    const send = async (): Promise<never> => Promise.reject(new Error("the call must not be sent"));
    expect(await checks.run({ call, tool, isContract }, send)).toEqual({ isError: true });
  });

  test("do not run again for a call that is sent again after a login", async () => {
    const checks = new CallChecks();
    let runs = 0;
    checks.add((routed, send) => {
      runs += 1;
      return send({ ...routed.call, timeoutMs: 7 });
    });
    await expect(
      checks.run({ call, tool, isContract }, () => Promise.reject(new Error("log in"))),
    ).rejects.toThrow();
    expect(await checks.run({ call, tool, isContract }, async ({ timeoutMs }) => ({ timeoutMs }))).toEqual({
      timeoutMs: 7,
    });
    expect(runs).toBe(1);
  });

  test("do not run after their removal", () => {
    const checks = new CallChecks();
    const remove = checks.add((routed, send) => send(routed.call));
    expect(checks.isEmpty).toBe(false);
    remove();
    expect(checks.isEmpty).toBe(true);
  });
});
