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
const told = (more: Partial<Diagnostic>): Diagnostic => ({
  code: "SERVER_UNAVAILABLE",
  severity: "warning",
  message: "it cannot be used now",
  ...more,
});
const refreshing = { auth: { refresh: { command: "x" } } } as unknown as Driver;

test.each<[string, DriverReport | undefined, Diagnostic[], Driver | undefined, string]>([
  ["verified", report(), [], undefined, "serves"],
  ["unverified, and nothing against it", report({ server: "unverified" }), [], undefined, "serves"],
  [
    "unverified for a reason",
    report({ server: "unverified" }),
    [told({})],
    undefined,
    "it cannot be used now",
  ],
  ["verified now, after a reason", report(), [told({})], undefined, "serves"],
  ["refused", report({ server: "refused", reason: "no" }), [], undefined, "no"],
  ["unreachable", report({ server: "unreachable", reason: "gone" }), [], undefined, "gone"],
  ["ill", report({ health: "failed" }), [], undefined, "its health check failed"],
  [
    "ill for a reason",
    report({ health: "failed", healthReason: "status 503" }),
    [],
    undefined,
    "its health check failed: status 503",
  ],
  ["restarting", report({ server: "unverified", reason: "it crashed" }), [], undefined, "it crashed"],
  ["nobody", report({ auth: "unauthed" }), [], undefined, "login: there is no login: portolan login a-mcp"],
  ["unknown", report({ auth: "unknown" }), [], undefined, "login: there is no login: portolan login a-mcp"],
  ["over", report({ auth: "expired" }), [], undefined, "login: its login has expired: portolan login a-mcp"],
  ["over, but renewed", report({ auth: "expired" }), [], refreshing, "serves"],
  ["not registered", undefined, [told({ severity: "error", message: "code" })], undefined, "code"],
])("%s", (_, one, findings, driver, wanted) => {
  const { serves, login, reason } = driverStateOf(one, findings, driver);
  expect(serves ? "serves" : `${login ? "login: " : ""}${reason}`).toBe(wanted);
});

test("only a driver whose server was verified is known to work", () => {
  expect(driverStateOf(report(), []).verified).toBe(true);
  expect(driverStateOf(report({ server: "unverified" }), []).verified).toBe(false);
});
