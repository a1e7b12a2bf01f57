// Sandbox mode of a driver: the command line sets it, then the workspace, never the driver itself.

import { expect, test } from "vitest";
import { type DriverModes, modeWords, withDriverMode } from "./sandbox.ts";

const settings = { sandbox: { network: ["a.test"] }, askedMode: "warn" } as const;
const decided = (modes: Partial<DriverModes>) =>
  withDriverMode(settings, "web", { alias: "contracts", override: undefined, byDriver: undefined, ...modes });

test("a sandbox mode in the driver itself has no effect", () => {
  expect(decided({})).toEqual({ ...settings, modeName: "contracts", driver: "web" });
  expect(decided({ byDriver: { other: "off" } }).sandbox).toEqual(settings.sandbox);
  expect(decided({ byDriver: {} }).sandboxOverride).toBeUndefined();
});

test("the workspace sets the mode of one driver, and the command line sets the mode of all drivers", () => {
  expect(decided({ byDriver: { web: "warn" } }).sandbox).toEqual({ network: ["a.test"], mode: "warn" });
  expect(decided({ byDriver: { web: "warn" }, override: "off" }).sandboxOverride).toBe("off");
});

test("a hint names the setting in portolan.yaml and the command-line option", () => {
  expect(modeWords(decided({}), "warn")).toBe(
    "contracts: { sandbox: { web: warn } } in portolan.yaml, or --sandbox contracts=warn",
  );
});
