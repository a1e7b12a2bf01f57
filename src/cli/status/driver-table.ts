// How the drivers of a workspace are doing, below the table of its servers: a line for each, reasons under it.

import type { DriverReport } from "../../contracts/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Standing } from "./driver-state.ts";

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
}

export interface DriverRow {
  readonly report: DriverReport;
  readonly standing: Standing;
}

const WORDS: Readonly<Record<DriverReport["server"], string>> = {
  verified: "verified",
  unverified: "not verified yet",
  unreachable: "cannot be reached",
  refused: "refused",
};

/** `told` are those whose problems are shown elsewhere. */
export function describeDrivers(
  drivers: readonly DriverRow[],
  told: ReadonlySet<string | undefined>,
  { colors, width }: View,
): string {
  const column = Math.max(...drivers.map(({ report }) => labelOf(report).length));
  const lines = drivers.flatMap(({ report, standing }) => {
    const { id } = report;
    const { serves, reason } = standing;
    const label = labelOf(report);
    const name = `${colors.bold(id)}${label.slice(id.length)}${" ".repeat(column - label.length)}`;
    const contracts = plainLine(report.contracts.join(", "), 500);
    const parts = [
      standingLabel({ report, standing }, colors),
      ...detailsOf(report, colors),
      ...(serves ? [`serves ${contracts || "nothing"}`] : contracts === "" ? [] : [`for ${contracts}`]),
    ];
    const why = reason === undefined || told.has(id) ? [] : [wrap(`      ${plainLine(reason, 600)}`, width)];
    return [wrap(`  ${name}  ${parts.join(", ")}`, width, 4), ...why];
  });
  return [colors.dim("drivers"), ...lines].join("\n");
}

function labelOf({ id, version }: DriverReport): string {
  return version === "" ? id : `${id}@${version}`;
}

/** Nothing where all of them can serve. */
export function summarizeDrivers(drivers: readonly DriverRow[]): string {
  const idle = drivers.filter(({ standing }) => !standing.serves);
  const [first] = idle;
  if (first === undefined) return "";
  const many = drivers.length === 1 ? "The driver" : `${idle.length} of ${drivers.length} drivers`;
  const broken = idle.find(({ standing }) => !standing.login);
  const next =
    broken === undefined
      ? `Log in: portolan login ${first.report.id}`
      : `More about one: portolan why ${broken.report.id}`;
  return `${many} cannot serve. ${next}`;
}

/** `cannot be used` is for those that nobody looked at because something else keeps them from serving. */
export function standingLabel({ report, standing }: DriverRow, colors: Colors): string {
  const isHeld = report.server === "unverified" && !standing.serves;
  return isHeld && !standing.login ? colors.yellow("cannot be used") : stateLabel(report, colors);
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

/** What is known of its health and its login; nothing where nothing checks it. */
function detailsOf({ server, health, auth }: DriverReport, colors: Colors): string[] {
  const well = health === "healthy" ? colors.green : colors.red;
  return [
    ...(health === "unknown" ? [] : [well(health === "failed" ? "not healthy" : health)]),
    ...(auth === "authed" || server === "refused"
      ? []
      : [colors.yellow(auth === "expired" ? "login expired" : "not signed in")]),
  ];
}
