// Callers that share a process, and callers that do not.

import { expect, test } from "vitest";
import { driver } from "../../../test/helpers/contracts.ts";
import { isPersonal, processKey } from "./process-key.ts";
import type { DriverHooks } from "./bound-tool.ts";

const keys = (one: ReturnType<typeof driver>, hooks?: DriverHooks): number =>
  new Set(["ann", "bob"].map((userId) => processKey(one, { userId }, hooks))).size;

test("callers share a process unless the driver has secrets or logins, in its file or in code", () => {
  expect(keys(driver())).toBe(1);
  expect(keys(driver(), { buildArguments: () => ({}) })).toBe(1);
  expect(keys(driver(), { login: async () => ({ ok: true }) })).toBe(2);
  expect(keys(driver(), { refresh: async () => ({ ok: true }) })).toBe(2);
  const env = { K: "${secrets.API_KEY}" };
  expect(keys(driver({ endpoint: { transport: "stdio", command: "x", env } }))).toBe(2);
  expect(keys(driver({ auth: { state: { paths: ["~/.x/"], env: [] } } }))).toBe(2);
  expect(isPersonal(driver())).toBe(false);
  expect(isPersonal(driver(), { refresh: async () => ({ ok: true }) })).toBe(true);
});
