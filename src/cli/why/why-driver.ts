// `portolan why <driver>`: explains the verification of a driver, and what to change if it failed.

import { type DriverReport, hasLogin, SecretGrants } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic, readTexts } from "../output/diagnostic.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import { DOWN, type DriverState, driverStateLabel, driverStateOf, LOGIN_NEEDED } from "../status/drivers.ts";
import { renderRows, type Row, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type ContractsSource, onlyDrivers, requireDriver, withContracts } from "../workspace/contracts.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { diagnosticsAbout } from "../workspace/left-out.ts";
import { type GatewayField, usesGateway, withServers } from "../workspace/running.ts";

/** How long the verification of a driver may take, if the gateway has just started it. */
const VERIFY_MS = 10_000;

export async function whyDriver(cli: Cli, own: ContractsSource, id: string): Promise<number> {
  const { driver, entry } = requireDriver(own, id);
  const use = async (
    reports: readonly DriverReport[],
    diagnostics: () => readonly Diagnostic[],
    gateway?: GatewayField,
  ): Promise<number> => {
    const report = reports.find((one) => one.id === id);
    const all = [
      ...(report?.problems ?? []),
      ...diagnosticsAbout(own.source, id, driver),
      ...diagnostics().filter(({ server }) => server === id),
    ];
    const problems = [...new Map(all.map((one) => [`${one.message}${one.line ?? ""}`, one])).values()];
    const state = driverStateOf(report, problems, driver);
    const advice = adviceOn(driver, report, problems, state);
    const runs = endpointLabel(driver.endpoint);
    if (cli.output.form === "json")
      cli.output.json({
        driver: id,
        gateway,
        version: driver.version,
        runs,
        entry,
        report,
        ...state,
        diagnostics: problems,
        advice,
      });
    else cli.output.print(describe({ driver, report, state, problems, advice, runs }, cli));
    return state.serves ? 0 : state.login ? LOGIN_NEEDED : DOWN;
  };
  if (await usesGateway(cli, own.source.path))
    return withServers(cli, own.source, { only: [own.alias] }, async ({ drivers, diagnostics, gateway }) =>
      use(await drivers(VERIFY_MS), diagnostics, gateway),
    );
  return withContracts(
    cli,
    own,
    (contracts, { diagnostics }) => use(contracts.status(), diagnostics),
    (endpoint) => onlyDrivers(endpoint, [id]),
  );
}

/** Explains a driver whose own file has errors, or which Portolan does not serve, because it is made for other hosts. */
export function whyBroken({ io, output }: Cli, id: string, diagnostics: readonly Diagnostic[]): number {
  const isWrong = diagnostics.some(({ severity }) => severity === "error");
  const advice = isWrong
    ? `Correct the errors above, then run: portolan why ${id}`
    : "Portolan does not use this driver, for the reason above. If the driver is for another host, no action is needed.";
  if (output.form === "json") {
    output.json({ driver: id, serves: false, login: false, diagnostics, advice: [advice] });
    return DOWN;
  }
  const { colors, width } = output;
  const label = pathLabeller(io);
  const view = { colors, width, label, textOf: readTexts() };
  const state = isWrong ? colors.red("refused") : colors.dim("skipped");
  output.print(
    [
      `${colors.bold(plainLine(id, 100))}\n${renderRows([{ name: "state", value: state }], output)}`,
      `${colors.bold("Diagnostics")}\n${diagnostics.map((one) => describeDiagnostic(one, view)).join("\n")}`,
      `${colors.bold("What to do")}\n${wrap(`  ${advice}`, width)}`,
    ].join("\n\n"),
  );
  return DOWN;
}

function adviceOn(
  driver: Driver,
  report: DriverReport | undefined,
  problems: readonly Diagnostic[],
  { serves, verified, login }: DriverState,
): string[] {
  const {
    id,
    launch: { versionCheck },
  } = driver;
  if (login) return [`Log in: portolan login ${id}`];
  const isWrong = problems.some(({ severity }) => severity === "error");
  if (serves && !verified)
    return [
      `The driver has no known errors, but its server was not verified. To verify it, call a contract: portolan call ${report?.contracts[0] ?? "<contract>"}`,
    ];
  if (serves && isWrong) return ["The driver serves calls, but correct the errors above."];
  if (serves) {
    const [first] = report?.contracts ?? [];
    return [
      `No action needed: the driver works. To run the examples of its contracts: portolan test ${id}`,
      ...(first === undefined ? [] : [`To see which driver serves a contract: portolan resolve ${first}`]),
    ];
  }
  if (report?.health === "failed")
    return [
      `Find out why its health check fails, or correct health_check in its DRIVER.md. Then run: portolan why ${id}`,
    ];
  const hints = problems.flatMap(({ hint }) => (hint === undefined || hint === "" ? [] : [hint]));
  if (versionCheck !== undefined && problems.some(({ message }) => message.includes("(version_mismatch)")))
    return [
      `version_check runs "${versionCheck.command}" and looks for ${versionCheck.parse} in its output. Run this command by hand. If it does not print the version, write another command into version_check in its DRIVER.md, or remove version_check.`,
      ...hints,
    ];
  const [secret] = new SecretGrants([], async () => undefined).namesOf(driver);
  if (secret !== undefined && report?.server === "unverified")
    return [...new Set(hints), "See which of its secrets have a value and a grant: portolan secrets check"];
  if (report?.server === "unreachable" || (report?.server === "unverified" && hints.length === 0))
    return [...hints, `See how its server is started: portolan why --plan ${id}`];
  return hints.length === 0 ? [`Correct its DRIVER.md, then run: portolan why ${id}`] : [...new Set(hints)];
}

function loginLabel(driver: Driver, report: DriverReport | undefined): string {
  if (!hasLogin(driver) || report === undefined) return "";
  return report.auth === "unknown" ? "unknown" : report.auth;
}

interface Found {
  readonly driver: Driver;
  readonly report: DriverReport | undefined;
  readonly state: DriverState;
  readonly problems: readonly Diagnostic[];
  readonly advice: readonly string[];
  readonly runs: string;
}

function describe({ driver, report, state, problems, advice, runs }: Found, { io, output }: Cli): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const { origin, policyTags, region } = driver;
  const rows: Row[] = [
    {
      name: "state",
      value:
        report === undefined ? colors.red("not registered") : driverStateLabel({ report, state }, colors),
    },
    { name: driver.server.kind === "remote" ? "reaches" : "runs", value: plainLine(runs, 2_000) },
    { name: "transport", value: driver.transport },
    { name: "protocol", value: report?.protocolVersion === undefined ? "" : `MCP ${report.protocolVersion}` },
    { name: "serves", value: report?.contracts.join(", ") ?? "" },
    { name: "region", value: region.join(", ") },
    { name: "tags", value: policyTags.join(", ") },
    { name: "login", value: loginLabel(driver, report) },
    { name: "health", value: report === undefined || report.health === "unknown" ? "" : report.health },
    { name: "config", value: label(origin.file) },
    { name: "reason", value: plainLine(state.reason ?? "", 1_000), paint: colors.red },
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
