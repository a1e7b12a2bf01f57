// `portolan why <driver>`: whether a driver fits its server, and if not, what to change.

import type { DriverReport } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Cli } from "../connect.ts";
import { type ContractsSource, driverNamed, withContracts } from "../contracts-source.ts";
import { stateLabel } from "../driver-table.ts";
import { endpointLabel } from "../endpoint-label.ts";
import { describeFinding } from "../finding.ts";
import { wrap } from "../layout.ts";
import { plainLine } from "../plain-text.ts";
import { renderRows, type Row } from "../rows.ts";
import { readTexts } from "../read-texts.ts";
import { computerOf, pathLabel } from "../workspace-folder.ts";

const DOWN = 3;

export async function whyDriver(cli: Cli, own: ContractsSource, id: string): Promise<number> {
  const { driver, entry } = driverNamed(own, id);
  return withContracts(cli, own, async (contracts, { diagnostics }) => {
    const report = contracts.status().find((one) => one.id === id);
    const told = [...(report?.problems ?? []), ...diagnostics().filter(({ server }) => server === id)];
    const problems = [...new Map(told.map((one) => [`${one.message}${one.line ?? ""}`, one])).values()];
    const works = report !== undefined && report.server !== "refused" && report.server !== "unreachable";
    const advice = adviceOn(driver, report, problems, works);
    const runs = endpointLabel(driver.endpoint);
    if (cli.output.form === "json")
      cli.output.json({
        driver: id,
        version: driver.version,
        runs,
        entry,
        report,
        diagnostics: problems,
        advice,
      });
    else cli.output.print(describe({ driver, report, problems, advice, runs }, cli));
    return works ? 0 : DOWN;
  });
}

function adviceOn(
  { id, launch: { versionCheck } }: Driver,
  report: DriverReport | undefined,
  problems: readonly Diagnostic[],
  works: boolean,
): string[] {
  if (works) {
    const [first] = report?.contracts ?? [];
    return [
      `Nothing: it works. Run the examples of its contracts: portolan test ${id}`,
      ...(first === undefined ? [] : [`See who serves one of them: portolan resolve ${first}`]),
    ];
  }
  const hints = problems.flatMap(({ hint }) => (hint === undefined || hint === "" ? [] : [hint]));
  if (versionCheck !== undefined && problems.some(({ message }) => message.includes("(version_mismatch)")))
    return [
      `version_check runs "${versionCheck.command}" and looks for ${versionCheck.parse} in what it prints. Run it by hand: a program that cannot be asked for its version needs another command, or no version_check.`,
      ...hints,
    ];
  if (report?.server === "unreachable")
    return [...hints, `See how its server is started: portolan why --plan ${id}`];
  return hints.length === 0 ? [`Correct its file, then: portolan why ${id}`] : [...new Set(hints)];
}

interface Found {
  readonly driver: Driver;
  readonly report: DriverReport | undefined;
  readonly problems: readonly Diagnostic[];
  readonly advice: readonly string[];
  readonly runs: string;
}

function describe({ driver, report, problems, advice, runs }: Found, { io, output }: Cli): string {
  const { colors, width } = output;
  const label = (file: string): string => pathLabel(file, computerOf(io, io.cwd));
  const { origin, policyTags, region } = driver;
  const rows: Row[] = [
    {
      name: "state",
      value: report === undefined ? colors.red("not registered") : stateLabel(report, colors),
    },
    { name: driver.server.kind === "remote" ? "reaches" : "runs", value: plainLine(runs, 2_000) },
    { name: "by", value: driver.transport },
    { name: "serves", value: report?.contracts.join(", ") ?? "" },
    { name: "region", value: region.join(", ") },
    { name: "tags", value: policyTags.join(", ") },
    { name: "login", value: driver.auth === undefined ? "" : (report?.auth ?? "") },
    { name: "health", value: report === undefined || report.health === "unknown" ? "" : report.health },
    { name: "declared", value: label(origin.file) },
    { name: "reason", value: plainLine(report?.reason ?? "", 1_000), paint: colors.red },
  ];
  const sections = [`${colors.bold(`${driver.id}@${driver.version}`)}\n${renderRows(rows, output)}`];
  if (problems.length > 0) {
    const view = { colors, width, label, textOf: readTexts() };
    sections.push(
      `${colors.bold("Problems")}\n${problems.map((one) => describeFinding(one, view)).join("\n")}`,
    );
  }
  sections.push(
    `${colors.bold("What to do")}\n${advice.map((line) => wrap(`  ${plainLine(line, 1_000)}`, width)).join("\n")}`,
  );
  return sections.join("\n\n");
}
