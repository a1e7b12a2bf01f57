// JSON-RPC errors of the gateway: the fields from which a client decides whether it repeats the call.

import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { toRpcError } from "./messages.ts";

const request = { method: "tools/call", params: { name: "mcp_files_read" } };

test("an error names the tool of the call, and says that the call did not run", () => {
  const data = { neverRan: true, retryAfterMs: 7, secret: "x" };
  const error = new PortolanError("SERVER_UNAVAILABLE", "gone", { server: "files", hint: "Wait.", data });
  expect(toRpcError(error, true, request)).toEqual({
    code: -32603,
    message: "gone",
    data: {
      ...{ code: "SERVER_UNAVAILABLE", hint: "Wait.", server: "files", tool: "mcp_files_read" },
      ...{ neverRan: true, retryAfterMs: 7 },
    },
  });
});

test("an error that the server returned keeps its code and data", () => {
  const error = new PortolanError("RPC_ERROR", "no", { data: { rpcCode: -32000, rpcData: { a: 1 } } });
  expect(toRpcError(error, false, request)).toEqual({ code: -32000, message: "no", data: { a: 1 } });
});

test("a named caller gets no hints with commands for the operator", () => {
  const hint = "Grant it with: portolan grant files -w /home/ann/portolan.yaml --read /data";
  const hintFor = (error: PortolanError, caller: string): unknown =>
    (toRpcError(error, true, request, caller).data as { hint: string }).hint;
  const denied = new PortolanError("SANDBOX_DENIED", "no", { hint });
  expect(hintFor(denied, "dev")).toBe("Ask the operator of the gateway for help.");
  for (const own of ["local", "stdio"]) expect(hintFor(denied, own)).toBe(hint);
  expect(hintFor(new PortolanError("TOOL_WITHHELD", "no"), "dev")).toBe(
    "Ask the operator of the gateway to review and approve the tool.",
  );
  expect(hintFor(new PortolanError("INPUT_INVALID", "no", { hint: "Write text." }), "dev")).toBe(
    "Write text.",
  );
});

test("an error that the server returned has the hint of Portolan in its message and its data", () => {
  const hint = "Grant it with: portolan grant github --net api.github.com";
  const failed = (rpcData?: unknown): PortolanError =>
    new PortolanError("RPC_ERROR", "fetch failed", { hint, data: { rpcCode: -32603, rpcData } });
  const message = `fetch failed. ${hint}`;
  expect(toRpcError(failed(), true, request)).toEqual({ code: -32603, message, data: { hint } });
  expect(toRpcError(failed({ a: 1 }), true)).toEqual({ code: -32603, message, data: { a: 1, hint } });
  expect(toRpcError(failed("text"), true)).toEqual({ code: -32603, message, data: "text" });
});
