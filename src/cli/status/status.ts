// `portolan status`: shows the state of every server and driver of the workspace.

import type { DriverReport } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { describeRelaxedByOwner } from "../output/server-state.ts";
import { wrap } from "../terminal/layout.ts";
import { contractsOf } from "../workspace/contracts.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { brokenDrivers, diagnosticsAbout } from "../workspace/left-out.ts";
import { withWorkspace } from "../workspace/open.ts";
import { loadSource, type Source, sourceNote } from "../workspace/source.ts";
import {
  describeDrivers,
  DOWN,
  type DriverRow,
  driverStateOf,
  LOGIN_NEEDED,
  summarizeDrivers,
} from "./drivers.ts";
import { describeStatus, summarize } from "./server-table.ts";

const WAIT_MS = 60_000;

export async function status(cli: Cli, aliases: readonly string[]): Promise<number> {
  const { io, output, options } = cli;
  const source = await loadSource(cli);
  const only = aliases.length === 0 ? undefined : [...new Set(aliases)];
  const waitMs = options.waitMs ?? options.limits.requestTimeoutMs ?? WAIT_MS;
  const open = { only, waitMs, showsSource: true };
  return withWorkspace(cli, source, open, async ({ workspace, diagnostics, request }) => {
    request("checking the health of the servers");
    const alive = await workspace.healthCheck();
    const servers = workspace.health();
    const own = contractsOf(source)?.alias;
    // Contracts that are not ready by now are not waited for any longer.
    const isOpen = servers.some(({ alias, state }) => alias === own && state === "ready");
    const contracts = isOpen ? await workspace.contracts() : undefined;
    // Portolan verifies drivers with slow servers in the background, within the same time limit.
    await Promise.race([contracts?.settled(), new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
    const registered = contracts === undefined ? [] : withLeftOut(contracts.status(), source);
    const reports = only === undefined || contracts !== undefined ? withBroken(registered, source) : [];
    const drivers = reports.map((report) => toRow(report, source, diagnostics()));
    const idle = drivers.filter(({ state }) => !state.serves);
    const healthy = alive && idle.length === 0;
    // When only logins are missing, the exit code says so.
    const exit = healthy ? 0 : alive && idle.every(({ state }) => state.login) ? LOGIN_NEEDED : DOWN;
    if (output.form === "json") {
      const { kind, path, files } = source;
      output.json({
        healthy,
        source: { kind, path, files },
        servers,
        ...(drivers.length === 0
          ? {}
          : { drivers: drivers.map(({ report, state }) => ({ ...report, ...state })) }),
        diagnostics: diagnostics(),
      });
      return exit;
    }
    const { colors, width } = output;
    const note = sourceNote(source, io);
    const label = pathLabeller(io);
    const relaxed = describeRelaxedByOwner(
      servers.flatMap(({ alias, sandbox }) => (sandbox === undefined ? [] : [{ alias, ...sandbox }])),
    );
    const skipped = new Set([...source.ofDrivers, ...source.leftOut]);
    const shown = diagnostics().filter(
      (one) => options.verbose || one.severity !== "info" || skipped.has(one),
    );
    const explained = new Set([
      ...shown.map(({ server }) => server),
      ...brokenDrivers(source, undefined).keys(),
    ]);
    const isAll = alive && servers.every(({ alias }) => alias === own) && idle.length > 0;
    const summary = [isAll ? "" : summarize(servers), summarizeDrivers(drivers)].filter((one) => one !== "");
    const parts = [
      ...(note === undefined ? [] : [colors.dim(wrap(note, width))]),
      ...(servers.length === 0 ? [] : [describeStatus(servers, { colors, width, now: Date.now(), label })]),
      ...(drivers.length === 0 ? [] : [describeDrivers(drivers, explained, { colors, width })]),
      ...(relaxed === undefined ? [] : [colors.yellow(wrap(relaxed, width))]),
      ...(shown.length === 0
        ? []
        : [shown.map((one) => describeDiagnostic(one, { colors, width, label })).join("\n")]),
      ...(servers.length === 0 ? [] : [wrap(summary.join(" "), width)]),
    ];
    output.print(parts.join("\n\n"));
    return exit;
  });
}

/** Adds drivers that were not registered; the reason is among the diagnostics. */
function withLeftOut(registered: readonly DriverReport[], source: Source): readonly DriverReport[] {
  const drivers = contractsOf(source)?.endpoint.drivers ?? [];
  const missing = drivers.filter(({ driver }) => !registered.some(({ id }) => id === driver.id));
  return [...registered, ...missing.map(({ driver: { id, version } }) => refused(id, version, []))];
}

/** Adds drivers whose files have errors, by the names of their folders. */
function withBroken(reports: readonly DriverReport[], source: Source): readonly DriverReport[] {
  const broken = brokenDrivers(source, contractsOf(source)?.endpoint);
  const more = [...broken].filter(([id]) => !reports.some((report) => report.id === id));
  return [...reports, ...more.map(([id, problems]) => refused(id, "", problems))];
}

function refused(id: string, version: string, problems: readonly Diagnostic[]): DriverReport {
  const state = { server: "refused", auth: "unknown", health: "unknown" } as const;
  return { id, version, ...state, contracts: [], problems };
}

function toRow(report: DriverReport, source: Source, diagnostics: readonly Diagnostic[]): DriverRow {
  const { id, problems } = report;
  const driver = contractsOf(source)?.endpoint.drivers.find((one) => one.driver.id === id)?.driver;
  const about = [
    ...problems,
    ...diagnosticsAbout(source, id, driver),
    ...diagnostics.filter(({ server }) => server === id),
  ];
  return { report, state: driverStateOf(report, about, driver) };
}
