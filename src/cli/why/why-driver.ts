// `portolan why <driver>`: whether a driver fits its server, and if not, what to change.

import { type DriverReport, hasLogin, SecretGrants } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic, readTexts } from "../output/diagnostic.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import { DOWN, LOGIN_NEEDED, type Standing, standingOf } from "../status/driver-state.ts";
import { standingLabel } from "../status/driver-table.ts";
import { wrap } from "../terminal/layout.ts";
import { renderRows, type Row } from "../terminal/rows.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type ContractsSource, driverNamed, onlyDrivers, withContracts } from "../workspace/contracts.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { findingsAbout } from "../workspace/left-out.ts";

export async function whyDriver(cli: Cli, own: ContractsSource, id: string): Promise<number> {
  const { driver, entry } = driverNamed(own, id);
  const use: Parameters<typeof withContracts<number>>[2] = async (contracts, { diagnostics }) => {
    const report = contracts.status().find((one) => one.id === id);
    const told = [
      ...(report?.problems ?? []),
      ...findingsAbout(own.source, id, driver),
      ...diagnostics().filter(({ server }) => server === id),
    ];
    const problems = [...new Map(told.map((one) => [`${one.message}${one.line ?? ""}`, one])).values()];
    const standing = standingOf(report, problems, driver);
    const advice = adviceOn(driver, report, problems, standing);
    const runs = endpointLabel(driver.endpoint);
    if (cli.output.form === "json")
      cli.output.json({
        driver: id,
        version: driver.version,
        runs,
        entry,
        report,
        ...standing,
        diagnostics: problems,
        advice,
      });
    else cli.output.print(describe({ driver, report, standing, problems, advice, runs }, cli));
    return standing.serves ? 0 : standing.login ? LOGIN_NEEDED : DOWN;
  };
  return withContracts(cli, own, use, (endpoint) => onlyDrivers(endpoint, [id]));
}

/** A driver whose own file cannot be used: what is wrong with it is all there is to know. */
export function whyBroken({ io, output }: Cli, id: string, findings: readonly Diagnostic[]): number {
  const isWrong = findings.some(({ severity }) => severity === "error");
  const advice = isWrong
    ? `Correct what is wrong, then: portolan why ${id}`
    : "Nothing: it is not for this program.";
  if (output.form === "json") {
    output.json({ driver: id, serves: false, login: false, diagnostics: findings, advice: [advice] });
    return DOWN;
  }
  const { colors, width } = output;
  const label = pathLabeller(io);
  const view = { colors, width, label, textOf: readTexts() };
  const state = isWrong ? colors.red("refused") : colors.dim("skipped");
  output.print(
    [
      `${colors.bold(plainLine(id, 100))}\n${renderRows([{ name: "state", value: state }], output)}`,
      `${colors.bold("Diagnostics")}\n${findings.map((one) => describeDiagnostic(one, view)).join("\n")}`,
      `${colors.bold("What to do")}\n${wrap(`  ${advice}`, width)}`,
    ].join("\n\n"),
  );
  return DOWN;
}

function adviceOn(
  driver: Driver,
  report: DriverReport | undefined,
  problems: readonly Diagnostic[],
  { serves, verified, login }: Standing,
): string[] {
  const {
    id,
    launch: { versionCheck },
  } = driver;
  if (login) return [`Log in: portolan login ${id}`];
  const isWrong = problems.some(({ severity }) => severity === "error");
  if (serves && !verified)
    return [
      `Nothing is known against it, but its server was not verified. Verify it with a call: portolan call ${report?.contracts[0] ?? "<contract>"}`,
    ];
  if (serves && isWrong) return ["It serves, but what is told above should be corrected."];
  if (serves) {
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
  const [secret] = new SecretGrants([], async () => undefined).namesOf(driver);
  if (secret !== undefined && report?.server === "unverified")
    return [
      ...new Set(hints),
      "See which of its secrets have a value, and who may have them: portolan secrets check",
    ];
  if (report?.server === "unreachable" || (report?.server === "unverified" && hints.length === 0))
    return [...hints, `See how its server is started: portolan why --plan ${id}`];
  return hints.length === 0 ? [`Correct its file, then: portolan why ${id}`] : [...new Set(hints)];
}

function loginLabel(driver: Driver, report: DriverReport | undefined): string {
  if (!hasLogin(driver) || report === undefined) return "";
  return report.auth === "unknown" ? "nobody, as far as is known" : report.auth;
}

interface Found {
  readonly driver: Driver;
  readonly report: DriverReport | undefined;
  readonly standing: Standing;
  readonly problems: readonly Diagnostic[];
  readonly advice: readonly string[];
  readonly runs: string;
}

function describe({ driver, report, standing, problems, advice, runs }: Found, { io, output }: Cli): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const { origin, policyTags, region } = driver;
  const rows: Row[] = [
    {
      name: "state",
      value:
        report === undefined ? colors.red("not registered") : standingLabel({ report, standing }, colors),
    },
    { name: driver.server.kind === "remote" ? "reaches" : "runs", value: plainLine(runs, 2_000) },
    { name: "by", value: driver.transport },
    { name: "speaks", value: report?.protocolVersion === undefined ? "" : `MCP ${report.protocolVersion}` },
    { name: "serves", value: report?.contracts.join(", ") ?? "" },
    { name: "region", value: region.join(", ") },
    { name: "tags", value: policyTags.join(", ") },
    { name: "login", value: loginLabel(driver, report) },
    { name: "health", value: report === undefined || report.health === "unknown" ? "" : report.health },
    { name: "declared", value: label(origin.file) },
    { name: "reason", value: plainLine(standing.reason ?? "", 1_000), paint: colors.red },
  ];
  const sections = [`${colors.bold(`${driver.id}@${driver.version}`)}\n${renderRows(rows, output)}`];
  if (problems.length > 0) {
    const view = { colors, width, label, textOf: readTexts() };
    sections.push(
      `${colors.bold("Diagnostics")}\n${problems.map((one) => describeDiagnostic(one, view)).join("\n")}`,
    );
  }
  sections.push(
    `${colors.bold("What to do")}\n${advice.map((line) => wrap(`  ${plainLine(line, 1_000)}`, width)).join("\n")}`,
  );
  return sections.join("\n\n");
}
