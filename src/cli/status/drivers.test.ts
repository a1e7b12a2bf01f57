import { expect, test } from "vitest";
import type { DriverReport } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import { driverStateOf } from "./drivers.ts";

const report = (more: Partial<DriverReport> = {}): DriverReport => ({
  id: "a-mcp",
  version: "1.0.0",
  server: "verified",
  auth: "authed",
  health: "unknown",
  contracts: ["it"],
  problems: [],
  ...more,
});
const diagnostic = (more: Partial<Diagnostic>): Diagnostic => ({
  code: "SERVER_UNAVAILABLE",
  severity: "warning",
  message: "it cannot be used now",
  ...more,
});
const refreshing = { auth: { refresh: { command: "x" } } } as unknown as Driver;

test.each<[string, DriverReport | undefined, Diagnostic[], Driver | undefined, string]>([
  ["verified", report(), [], undefined, "serves"],
  ["unverified, without a diagnostic", report({ server: "unverified" }), [], undefined, "serves"],
  [
    "unverified, with a diagnostic",
    report({ server: "unverified" }),
    [diagnostic({})],
    undefined,
    "it cannot be used now",
  ],
  ["verified after a diagnostic", report(), [diagnostic({})], undefined, "serves"],
  ["refused", report({ server: "refused", reason: "no" }), [], undefined, "no"],
  ["unreachable", report({ server: "unreachable", reason: "gone" }), [], undefined, "gone"],
  ["a failed health check", report({ health: "failed" }), [], undefined, "its health check failed"],
  [
    "a failed health check with a reason",
    report({ health: "failed", healthReason: "status 503" }),
    [],
    undefined,
    "its health check failed: status 503",
  ],
  ["restarting", report({ server: "unverified", reason: "it crashed" }), [], undefined, "it crashed"],
  [
    "without a login",
    report({ auth: "unauthed" }),
    [],
    undefined,
    "login: there is no login: portolan login a-mcp",
  ],
  [
    "an unknown login",
    report({ auth: "unknown" }),
    [],
    undefined,
    "login: there is no login: portolan login a-mcp",
  ],
  [
    "an expired login",
    report({ auth: "expired" }),
    [],
    undefined,
    "login: its login has expired: portolan login a-mcp",
  ],
  ["an expired login with a refresh command", report({ auth: "expired" }), [], refreshing, "serves"],
  ["not registered", undefined, [diagnostic({ severity: "error", message: "code" })], undefined, "code"],
])("driverStateOf a driver: %s", (_, one, findings, driver, wanted) => {
  const { serves, login, reason } = driverStateOf(one, findings, driver);
  expect(serves ? "serves" : `${login ? "login: " : ""}${reason}`).toBe(wanted);
});

test('only a driver whose server was verified has the state "verified"', () => {
  expect(driverStateOf(report(), []).verified).toBe(true);
  expect(driverStateOf(report({ server: "unverified" }), []).verified).toBe(false);
});
