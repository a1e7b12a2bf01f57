// Kinds of faults: an error that another attempt cannot repair stops the attempts.

import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { finalError, toFault, unavailableError } from "./faults.ts";

test.each([
  ["PACKAGE_NOT_FOUND", { reason: "E404", permanent: true }, "blocking"],
  ["INSTALL_FAILED", { reason: "EAI_AGAIN" }, "transient"],
  ["SANDBOX_UNAVAILABLE", {}, "blocking"],
  ["SERVER_CRASHED", {}, "transient"],
] as const)("the fault %s %j is %s", (code, data, kind) => {
  expect(toFault(new PortolanError(code, "m", { data })).kind).toBe(kind);
});

test("a call to a server that needs a login fails with the error of the start and the login command as hint", () => {
  const data = { login: { server: "one" } };
  const hint = "Log in with: portolan login one";
  const error = new PortolanError("AUTH_REQUIRED", "one requires a login", { server: "one", hint, data });
  expect(unavailableError("one", toFault(error), 10_000)).toMatchObject({
    ...{ code: "AUTH_REQUIRED", message: "one requires a login", hint },
    data: { ...data, retryAfterMs: 10_000 },
  });
});

test("an unavailable server is named by its own alias, without the hint of the interrupted call", () => {
  const error = new PortolanError("SERVER_CRASHED", "two exited with code 137", { server: "two" });
  expect(unavailableError("one", toFault(error), 10_000)).toMatchObject({
    server: "one",
    message: "one is not available: one exited with code 137",
    hint: "Call again in 10 s.",
  });
});

test("a call that was not sent fails with SERVER_UNAVAILABLE", () => {
  const unsent = (hint?: string): PortolanError =>
    new PortolanError("CONNECTION_LOST", "refused", {
      hint,
      tool: "echo",
      data: { neverRan: true, reason: "X" },
    });
  expect(finalError(unsent("Check the URL."), "one")).toMatchObject({
    ...{ code: "SERVER_UNAVAILABLE", message: "one is not available: refused", server: "one", tool: "echo" },
    ...{ hint: "Check the URL.", data: { neverRan: true, reason: "X" } },
  });
  expect(finalError(unsent(), "one").hint).toBe("Call again.");
  const sent = new PortolanError("CONNECTION_LOST", "reset");
  expect(finalError(sent, "one")).toBe(sent);
  const late = new PortolanError("TIMEOUT", "late", { data: { neverRan: true } });
  expect(finalError(late, "one")).toBe(late);
});
