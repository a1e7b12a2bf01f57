// Sandbox mode of a driver: the command line decides it, then the workspace, never the driver itself.

import { expect, test } from "vitest";
import { type DriverModes, modeWords, withDriverMode } from "./sandbox.ts";

const settings = { sandbox: { network: ["a.test"] }, askedMode: "warn" } as const;
const decided = (modes: Partial<DriverModes>) =>
  withDriverMode(settings, "web", { alias: "contracts", override: undefined, byDriver: undefined, ...modes });

test("what a driver asks for changes nothing", () => {
  expect(decided({})).toEqual({ ...settings, modeName: "contracts", driver: "web" });
  expect(decided({ byDriver: { other: "off" } }).sandbox).toEqual(settings.sandbox);
  expect(decided({ byDriver: {} }).sandboxOverride).toBeUndefined();
});

test("the workspace decides for one driver, and the command line for all", () => {
  expect(decided({ byDriver: { web: "warn" } }).sandbox).toEqual({ network: ["a.test"], mode: "warn" });
  expect(decided({ byDriver: { web: "warn" }, override: "off" }).sandboxOverride).toBe("off");
});

test("hints say both", () => {
  expect(modeWords(decided({}), "warn")).toBe(
    "contracts: { sandbox: { web: warn } } in portolan.yaml, or --sandbox contracts=warn",
  );
});
