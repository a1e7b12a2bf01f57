// `portolan status`: shows the state of every server and driver of the workspace.

import type { DriverReport } from "../../contracts/index.ts";
import type { RunningGateway } from "../../control/index.ts";
import { type Diagnostic, hintedMessage, locatedMessage } from "../../errors/index.ts";
import type { ServerHealth } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { withGateway } from "../control/find.ts";
import { describeLogin, type LoginState, readLogins } from "../login/login-state.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { describeRelaxedByOwner } from "../output/server-state.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { contractsOf } from "../workspace/contracts.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { brokenDrivers, diagnosticsAbout } from "../workspace/left-out.ts";
import { SHORT_WAIT_MS } from "../workspace/open.ts";
import { BROKEN, loadSourceOrRunning, withServers } from "../workspace/running.ts";
import { rightsIn, type Source, sourceNote } from "../workspace/source.ts";
import { describeBudgets } from "./budgets.ts";
import {
  describeDrivers,
  DOWN,
  type DriverRow,
  driverStateOf,
  LOGIN_NEEDED,
  summarizeDrivers,
} from "./drivers.ts";
import { checkStart, refuseCrashed, requireUsable, type StatusOptions } from "./gateway-check.ts";
import { describeStatus, summarize } from "./server-table.ts";

const WAIT_MS = 60_000;
/** Exit code for config files with errors, and for files whose changes the gateway ignores. */
const INVALID = 2;

export async function status(
  cli: Cli,
  aliases: readonly string[],
  requested: StatusOptions = {},
): Promise<number> {
  const { io, output, options } = cli;
  requireUsable(cli, requested);
  const source = await loadSourceOrRunning(cli, false);
  await refuseCrashed(cli, source.path);
  const only = aliases.length === 0 ? undefined : [...new Set(aliases)];
  const wantedMs = options.waitMs ?? options.limits.requestTimeoutMs;
  const waitMs = wantedMs ?? WAIT_MS;
  const beforeStart = (gateway: RunningGateway | undefined, missing: readonly string[]): Promise<void> =>
    checkStart(cli, source, { gateway, missing }, requested);
  const gatewayWaitMs = wantedMs ?? SHORT_WAIT_MS;
  const open = { only, waitMs, gatewayWaitMs, showsSource: true, asGateway: true, beforeStart };
  return withServers(
    cli,
    source,
    open,
    async ({ workspace, gateway, drivers: readDrivers, diagnostics, request }) => {
      request("checking the health of the servers");
      const alive = await workspace.healthCheck();
      const servers = workspace.health();
      const own = contractsOf(source)?.alias;
      // Contracts that are not ready by now are not waited for any longer.
      const isOpen = servers.some(({ alias, state }) => alias === own && state === "ready");
      const registered = isOpen
        ? withLeftOut(await readDrivers(gateway === undefined ? waitMs : gatewayWaitMs), source)
        : [];
      const reports = only === undefined || isOpen ? withBroken(registered, source) : [];
      const drivers = reports.map((report) => toRow(report, source, diagnostics()));
      const idle = drivers.filter(({ state }) => !state.serves);
      const logins = await readLogins(cli, source.config.servers);
      const needsLogin = servers.filter(({ error }) => error?.code === "AUTH_REQUIRED");
      const isUp = alive || (needsLogin.length > 0 && servers.every(isUpWith(needsLogin)));
      // The servers work, but the record of what they did cannot be trusted, or cannot be written.
      const isUnaudited = diagnostics().some(
        ({ code }) => code === "AUDIT_DAMAGED" || code === "AUDIT_FAILED",
      );
      const healthy = alive && idle.length === 0 && !isUnaudited;
      // When only logins are missing, the exit code says so.
      const exit =
        source.isBroken === true || gateway?.ignoredFiles !== undefined
          ? INVALID
          : healthy
            ? 0
            : isUp && !isUnaudited && idle.every(({ state }) => state.login)
              ? LOGIN_NEEDED
              : DOWN;
      if (output.form === "json") {
        const { kind, path, files } = source;
        output.json({
          healthy,
          gateway: gateway ?? null,
          source: { kind, path, files },
          servers: servers.map((server) => ({ ...server, login: logins.get(server.alias) })),
          ...(drivers.length === 0
            ? {}
            : { drivers: drivers.map(({ report, state }) => ({ ...report, ...state })) }),
          diagnostics: diagnostics(),
        });
        return exit;
      }
      const { colors, width } = output;
      const note =
        source.isBroken === true
          ? BROKEN
          : gateway?.ignoredFiles === undefined
            ? sourceNote(source, io)
            : undefined;
      const label = pathLabeller(io);
      const relaxed = describeRelaxedByOwner(
        servers.flatMap(({ alias, sandbox }) => (sandbox === undefined ? [] : [{ alias, ...sandbox }])),
      );
      const skipped = new Set([...source.ofDrivers, ...source.leftOut]);
      const shown = diagnostics().filter(
        (one) => options.verbose || one.severity !== "info" || skipped.has(one),
      );
      // Settings and files that the gateway refused are a diagnostic too.
      const told = new Set(
        shown
          .map((one) => ({ ...one, message: hintedMessage(one) }))
          .flatMap((one) => [one.message, locatedMessage(one)]),
      );
      const explained = new Set([
        ...shown.map(({ server }) => server),
        ...brokenDrivers(source, undefined).keys(),
      ]);
      const waiting = gateway === undefined ? 0 : await countWaiting(cli, source.path, gateway.pid);
      const isAll = isOpen && servers.every(({ alias }) => alias === own) && idle.length > 0;
      const summary = [isAll ? "" : summarize(servers), summarizeDrivers(drivers)].filter(
        (one) => one !== "",
      );
      const parts = [
        ...(note === undefined ? [] : [colors.dim(wrap(note, width))]),
        ...(servers.length === 0
          ? []
          : [
              describeStatus(servers, {
                ...{ colors, width, now: Date.now(), label, rightsOf: rightsIn(source) },
                loginOf: (alias) => describeKnown(logins.get(alias)),
              }),
            ]),
        ...(drivers.length === 0 ? [] : [describeDrivers(drivers, explained, { colors, width })]),
        ...(gateway?.budgets === undefined ? [] : [describeBudgets(gateway.budgets, { colors, width })]),
        ...(waiting === 0
          ? []
          : [
              colors.yellow(
                `${count(waiting, "call")} ${waiting === 1 ? "waits" : "wait"} for approval: portolan approve`,
              ),
            ]),
        ...(gateway === undefined || gateway.version === io.version
          ? []
          : [
              colors.yellow(
                wrap(
                  `The gateway runs version ${plainLine(gateway.version, 40)} of Portolan, and this command is version ${io.version}. To run the gateway in version ${io.version}, stop it (portolan stop), and start it again.`,
                  width,
                ),
              ),
            ]),
        ...(relaxed === undefined ? [] : [colors.yellow(wrap(relaxed, width))]),
        ...(shown.length === 0
          ? []
          : [shown.map((one) => describeDiagnostic(one, { colors, width, label })).join("\n")]),
        ...(gateway?.problems ?? [])
          .filter((problem) => !told.has(problem))
          .map((problem) => colors.yellow(wrap(plainLine(problem, 1_000), width))),
        ...(servers.length === 0 ? [] : [wrap(summary.join(" "), width)]),
      ];
      output.print(parts.join("\n\n"));
      return exit;
    },
  );
}

/** The number of calls that wait for approval in this gateway. */
async function countWaiting({ io }: Cli, path: string, pid: number): Promise<number> {
  const found = (await io.findGateways(path)).gateways.find((gateway) => gateway.pid === pid);
  return found === undefined ? 0 : withGateway(found, async (client) => (await client.approvals()).length);
}

/** The error of a server that needs a login has the command already. */
function describeKnown(login: LoginState | undefined): string | undefined {
  return login?.state === "logged in" ? describeLogin(login) : undefined;
}

function isUpWith(excused: readonly ServerHealth[]): (server: ServerHealth) => boolean {
  const fine = new Set(["ready", "idle", "disabled"]);
  return (server) => excused.includes(server) || (fine.has(server.state) && server.error === undefined);
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
