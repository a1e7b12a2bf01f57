import { expect, test } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { fromErrorResult, fromGateway } from "./gateway-errors.ts";

const answered = (rpcData: unknown): PortolanError =>
  new PortolanError("RPC_ERROR", "files exited", { server: "gateway", data: { rpcCode: -32603, rpcData } });

test("the error of a Portolan gateway has the code, hint and server that it sends", () => {
  const error = answered({ code: "SERVER_CRASHED", hint: "Check first.", server: "files", tool: "read" });
  const expected = { code: "SERVER_CRASHED", message: "files exited", hint: "Check first.", server: "files" };
  expect(fromGateway(error)).toMatchObject({ ...expected, tool: "read", cause: error });
  expect(fromGateway(error, { keepsServer: true })).toMatchObject({
    code: "SERVER_CRASHED",
    server: "gateway",
  });
});

test("the error of a Portolan gateway says that a call did not run", () => {
  const data = { code: "TIMEOUT", hint: "", neverRan: true, retryAfterMs: 7 };
  expect(fromGateway(answered(data))).toMatchObject({
    data: { neverRan: true, retryAfterMs: 7, rpcData: data },
  });
});

test.each([
  undefined,
  "text",
  { code: 7 },
  { code: "E_OTHER", hint: "x" },
  { code: "TIMEOUT" },
  { code: "toString", hint: "" },
])("an error of another server with the data %j is unchanged", (data) => {
  const error = answered(data);
  expect(fromGateway(error)).toBe(error);
});

test("an error that is not a response of the server is unchanged", () => {
  const lost = new PortolanError("CONNECTION_LOST", "x", {
    data: { rpcData: { code: "TIMEOUT", hint: "" } },
  });
  expect(fromGateway(lost)).toBe(lost);
});

test("an error result with the reason of Portolan is an error with its code, hint and output", () => {
  const details = {
    ...{ code: "upstream_error", message: "who-mcp exited with code 7", errorCode: "SERVER_CRASHED" },
    ...{ hint: "Check first.", stderr: "out of cheese", neverRan: true, retryAfterMs: 5 },
  };
  const result = { content: [], isError: true, _meta: { "portolan/error": details } };
  expect(
    fromErrorResult(result, "upstream_error: exited", { server: "contracts", tool: "who" }),
  ).toMatchObject({
    ...{ code: "SERVER_CRASHED", message: details.message, hint: "Check first.", stderr: "out of cheese" },
    ...{ server: "contracts", tool: "who", data: { result, neverRan: true, retryAfterMs: 5 } },
  });
});

test.each([
  undefined,
  null,
  "text",
  { "portolan/error": "text" },
  { "portolan/error": { errorCode: "E_X" } },
])("an error result with the `_meta` %j is a failure of the tool", (_meta) => {
  const result = { content: [], isError: true, _meta } as never;
  const error = fromErrorResult(result, "disk full", { tool: "write" });
  expect(error).toMatchObject({ code: "TOOL_FAILED", message: "disk full", tool: "write" });
  expect(error.data).toEqual({ result });
});
