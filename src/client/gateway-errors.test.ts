import { expect, test } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { fromGateway } from "./gateway-errors.ts";

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
