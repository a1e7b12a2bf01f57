// `portolan status`: how every server of the workspace is doing.

import type { DriverReport } from "../../contracts/index.ts";
import type { Cli } from "../connect.ts";
import { contractsOf } from "../contracts-source.ts";
import { canServe, describeDrivers, summarizeDrivers } from "../driver-table.ts";
import { describeFinding } from "../finding.ts";
import { wrap } from "../layout.ts";
import { describeRelaxedByOwner } from "../owners-sandbox.ts";
import { sourceNote } from "../source-note.ts";
import { describeStatus, summarize } from "../status-table.ts";
import { withWorkspace } from "../with-workspace.ts";
import { computerOf, pathLabel } from "../workspace-folder.ts";
import { loadSource, type Source } from "../workspace-source.ts";

const WAIT_MS = 60_000;
/** As for a server that cannot be reached. */
const DOWN = 3;

export async function status(cli: Cli, aliases: readonly string[]): Promise<number> {
  const { io, output, options } = cli;
  const source = await loadSource(cli);
  const only = aliases.length === 0 ? undefined : [...new Set(aliases)];
  const waitMs = options.waitMs ?? options.limits.requestTimeoutMs ?? WAIT_MS;
  const open = { only, waitMs, showsSource: true };
  return withWorkspace(cli, source, open, async ({ workspace, diagnostics, request }) => {
    request("asking for a sign of life");
    const alive = await workspace.healthCheck();
    const servers = workspace.health();
    const own = contractsOf(source)?.alias;
    // What is not there yet is not waited for any longer.
    const isOpen = servers.some(({ alias, state }) => alias === own && state === "ready");
    const contracts = isOpen ? await workspace.contracts() : undefined;
    // Drivers whose servers start slowly are looked at in the background, within the same time.
    await Promise.race([contracts?.settled(), new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
    const drivers = contracts === undefined ? [] : withLeftOut(contracts.status(), source);
    const healthy = alive && drivers.every(canServe);
    if (output.form === "json") {
      const { kind, path, files } = source;
      output.json({
        healthy,
        source: { kind, path, files },
        servers,
        ...(drivers.length === 0 ? {} : { drivers }),
        diagnostics: diagnostics(),
      });
      return healthy ? 0 : DOWN;
    }
    const { colors, width } = output;
    const note = sourceNote(source, io);
    const computer = computerOf(io, io.cwd);
    const label = (file: string): string => pathLabel(file, computer);
    const relaxed = describeRelaxedByOwner(
      servers.flatMap(({ alias, sandbox }) => (sandbox === undefined ? [] : [{ alias, ...sandbox }])),
    );
    const shown = diagnostics().filter(({ severity }) => options.verbose || severity !== "info");
    const told = new Set(shown.map(({ server }) => server));
    const parts = [
      ...(note === undefined ? [] : [colors.dim(wrap(note, width))]),
      ...(servers.length === 0 ? [] : [describeStatus(servers, { colors, width, now: Date.now(), label })]),
      ...(drivers.length === 0 ? [] : [describeDrivers(drivers, told, { colors, width })]),
      ...(relaxed === undefined ? [] : [colors.yellow(wrap(relaxed, width))]),
      ...(shown.length === 0
        ? []
        : [shown.map((one) => describeFinding(one, { colors, width, label })).join("\n")]),
      ...(servers.length === 0 ? [] : [wrap(`${summarize(servers)}${summarizeDrivers(drivers)}`, width)]),
    ];
    output.print(parts.join("\n\n"));
    return healthy ? 0 : DOWN;
  });
}

/** Also drivers that did not even come to be registered, for a reason that is among the diagnostics. */
function withLeftOut(registered: readonly DriverReport[], source: Source): readonly DriverReport[] {
  const declared = contractsOf(source)?.endpoint.drivers ?? [];
  const missing = declared.filter(({ driver }) => !registered.some(({ id }) => id === driver.id));
  const reports = missing.map(({ driver: { id, version } }): DriverReport => ({
    id,
    version,
    server: "refused",
    auth: "unknown",
    health: "unknown",
    contracts: [],
    problems: [],
  }));
  return [...registered, ...reports];
}
