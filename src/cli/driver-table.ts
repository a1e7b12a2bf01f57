// How the drivers of a workspace are doing, below the table of its servers: a line for each, reasons under it.

import type { DriverReport } from "../contracts/index.ts";
import type { Colors, Paint } from "./colors.ts";
import { wrap } from "./layout.ts";
import { plainLine } from "./plain-text.ts";

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
}

const WORDS: Readonly<Record<DriverReport["server"], string>> = {
  fits: "fits",
  unchecked: "not looked at yet",
  unreachable: "cannot be reached",
  refused: "refused",
};

/** `told` are those whose problems are shown elsewhere. */
export function describeDrivers(
  drivers: readonly DriverReport[],
  told: ReadonlySet<string | undefined>,
  { colors, width }: View,
): string {
  const column = Math.max(...drivers.map(({ id, version }) => id.length + version.length + 1));
  const lines = drivers.flatMap((driver) => {
    const { id, version, reason } = driver;
    const verb = canServe(driver) ? "serves" : "for";
    const name = `${colors.bold(id)}@${version}${" ".repeat(column - id.length - version.length - 1)}`;
    const serves = driver.contracts.join(", ") || "nothing";
    const parts = [
      stateLabel(driver, colors),
      ...detailsOf(driver, colors),
      `${verb} ${plainLine(serves, 500)}`,
    ];
    const why = reason === undefined || told.has(id) ? [] : [wrap(`      ${plainLine(reason, 600)}`, width)];
    return [wrap(`  ${name}  ${parts.join(", ")}`, width, 4), ...why];
  });
  return [colors.dim("drivers"), ...lines].join("\n");
}

/** Whether calls may go to it, as far as is known. */
export function canServe({ server, health }: DriverReport): boolean {
  return server !== "refused" && server !== "unreachable" && health !== "failed";
}

/** Nothing where all of them can serve. */
export function summarizeDrivers(drivers: readonly DriverReport[]): string {
  const broken = drivers.filter((driver) => !canServe(driver));
  const [first] = broken;
  if (first === undefined) return "";
  return ` ${broken.length} of ${drivers.length} ${drivers.length === 1 ? "driver" : "drivers"} cannot serve. More about one: portolan why ${first.id}`;
}

export function stateLabel({ server }: DriverReport, colors: Colors): string {
  const paints: Readonly<Record<DriverReport["server"], Paint>> = {
    fits: colors.green,
    unchecked: colors.dim,
    unreachable: colors.yellow,
    refused: colors.red,
  };
  return paints[server](WORDS[server]);
}

/** What is known of its health and its login; nothing where nothing checks it. */
function detailsOf({ health, auth }: DriverReport, colors: Colors): string[] {
  const well = health === "healthy" ? colors.green : colors.red;
  return [
    ...(health === "unknown" ? [] : [well(health === "failed" ? "not healthy" : health)]),
    ...(auth === "unknown" || auth === "authed"
      ? []
      : [colors.yellow(auth === "unauthed" ? "not signed in" : auth === "expired" ? "login expired" : auth)]),
  ];
}
