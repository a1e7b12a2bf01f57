// Drivers in the output: the state of each, and their table below the table of servers.

import type { DriverReport } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface DriverState {
  readonly serves: boolean;
  /** True when its server has run and has the tools that the driver binds. */
  readonly verified: boolean;
  /** True when a login is all that is missing. */
  readonly login: boolean;
  readonly reason?: string;
}

/** Exit codes: for a server that cannot be reached, and for a missing login. */
export const DOWN = 3;
export const LOGIN_NEEDED = 5;

/** `diagnostics` are those about the driver so far. */
export function driverStateOf(
  report: DriverReport | undefined,
  diagnostics: readonly Diagnostic[],
  driver?: Driver,
): DriverState {
  if (report === undefined)
    return { serves: false, verified: false, login: false, reason: firstError(diagnostics) };
  const { server, auth, health, healthReason, reason } = report;
  const verified = server === "verified";
  if (server === "refused" || server === "unreachable")
    return { serves: false, verified, login: false, reason: reason ?? firstError(diagnostics) };
  // The next call renews a login that can be refreshed.
  const isIn = auth === "authed" || (auth === "expired" && driver?.auth?.refresh !== undefined);
  if (!isIn) return { serves: false, verified, login: true, reason: loginReason(report) };
  if (health === "failed" || health === "stale") {
    const failed = `its health check failed${healthReason === undefined ? "" : `: ${healthReason}`}`;
    const why = health === "failed" ? failed : "its last health check is too old";
    return { serves: false, verified, login: false, reason: why };
  }
  // The driver was not verified for a reason outside of its server, such as a secret without a grant or a value.
  const kept = verified
    ? undefined
    : (diagnostics.find(({ code }) => code === "SERVER_UNAVAILABLE")?.message ?? reason);
  return kept === undefined
    ? { serves: true, verified, login: false }
    : { serves: false, verified, login: false, reason: kept };
}

function firstError(diagnostics: readonly Diagnostic[]): string | undefined {
  return diagnostics.find(({ severity }) => severity === "error")?.message;
}

function loginReason({ id, auth }: DriverReport): string {
  const what = auth === "expired" ? "its login has expired" : "there is no login";
  return `${what}: portolan login ${id}`;
}

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
}

export interface DriverRow {
  readonly report: DriverReport;
  readonly state: DriverState;
}

const WORDS: Readonly<Record<DriverReport["server"], string>> = {
  verified: "verified",
  unverified: "not verified yet",
  unreachable: "cannot be reached",
  refused: "refused",
};

/** `explained` are the drivers whose diagnostics are shown elsewhere. */
export function describeDrivers(
  drivers: readonly DriverRow[],
  explained: ReadonlySet<string | undefined>,
  { colors, width }: View,
): string {
  const column = Math.max(...drivers.map(({ report }) => labelOf(report).length));
  const lines = drivers.flatMap(({ report, state }) => {
    const { id } = report;
    const { serves, reason } = state;
    const label = labelOf(report);
    const name = `${colors.bold(id)}${label.slice(id.length)}${" ".repeat(column - label.length)}`;
    const contracts = plainLine(report.contracts.join(", "), 500);
    const parts = [
      driverStateLabel({ report, state }, colors),
      ...detailsOf(report, colors),
      ...(serves ? [`serves ${contracts || "nothing"}`] : contracts === "" ? [] : [`for ${contracts}`]),
    ];
    const why =
      reason === undefined || explained.has(id) ? [] : [wrap(`      ${plainLine(reason, 600)}`, width)];
    return [wrap(`  ${name}  ${parts.join(", ")}`, width, 4), ...why];
  });
  return [colors.dim("drivers"), ...lines].join("\n");
}

function labelOf({ id, version }: DriverReport): string {
  return version === "" ? id : `${id}@${version}`;
}

/** Empty when all drivers can serve. */
export function summarizeDrivers(drivers: readonly DriverRow[]): string {
  const idle = drivers.filter(({ state }) => !state.serves);
  const [first] = idle;
  if (first === undefined) return "";
  const many = drivers.length === 1 ? "The driver" : `${idle.length} of ${drivers.length} drivers`;
  const broken = idle.find(({ state }) => !state.login);
  const next =
    broken === undefined
      ? `Log in: portolan login ${first.report.id}`
      : `See why: portolan why ${broken.report.id}`;
  return `${many} cannot serve calls. ${next}`;
}

/** `cannot be used` is for drivers that were not verified because something else prevents them from serving. */
export function driverStateLabel({ report, state }: DriverRow, colors: Colors): string {
  const isHeld = report.server === "unverified" && !state.serves;
  return isHeld && !state.login ? colors.yellow("cannot be used") : stateLabel(report, colors);
}

function stateLabel({ server }: DriverReport, colors: Colors): string {
  const paints: Readonly<Record<DriverReport["server"], Paint>> = {
    verified: colors.green,
    unverified: colors.dim,
    unreachable: colors.yellow,
    refused: colors.red,
  };
  return paints[server](WORDS[server]);
}

/** The health and login of a driver; empty when neither is checked. */
function detailsOf({ server, health, auth }: DriverReport, colors: Colors): string[] {
  const well = health === "healthy" ? colors.green : colors.red;
  return [
    ...(health === "unknown" ? [] : [well(health === "failed" ? "not healthy" : health)]),
    ...(auth === "authed" || server === "refused"
      ? []
      : [colors.yellow(auth === "expired" ? "login expired" : "not logged in")]),
  ];
}
