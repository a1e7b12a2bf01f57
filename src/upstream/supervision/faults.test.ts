// Errors that no further attempt can repair stop the attempts.

import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { toFault } from "./faults.ts";

test.each([
  ["INSTALL_FAILED", { reason: "E404", permanent: true }, "blocking"],
  ["INSTALL_FAILED", { reason: "EAI_AGAIN" }, "transient"],
  ["SANDBOX_UNAVAILABLE", {}, "blocking"],
  ["SERVER_CRASHED", {}, "transient"],
] as const)("%s %j is %s", (code, data, kind) => {
  expect(toFault(new PortolanError(code, "m", { data })).kind).toBe(kind);
});
