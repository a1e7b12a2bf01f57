// `portolan why`: explains the state of one server, and what to do about it.

import { basename, dirname } from "node:path";
import { type Diagnostic, disabledHint, ERROR_CODES, PortolanError } from "../../errors/index.ts";
import type { ServerHealth } from "../../hub/index.ts";
import type { LintFinding } from "../../packages/index.ts";
import type { ConfiguredDriver, ConfiguredEndpoint, Driver, ServerConfig } from "../../model/index.ts";
import type { Cli, CliIo, Words } from "../context.ts";
import { absolutePath } from "../grants/paths.ts";
import { describeLogin, type LoginState, readLogins } from "../login/login-state.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import { describeDifferences, describePins } from "../output/pin-lines.ts";
import { healthLabel, replacementLine, sandboxLabel, sandboxPaint } from "../output/server-state.ts";
import type { Paint } from "../terminal/colors.ts";
import { count, renderRows, type Row, wrap } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { requireServerHere } from "../workspace/client-hint.ts";
import { contractsOf } from "../workspace/contracts.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";
import { diagnosticsAbout } from "../workspace/left-out.ts";
import { SHORT_WAIT_MS } from "../workspace/open.ts";
import {
  type GatewayField,
  loadSourceOrRunning,
  type UsedWorkspace,
  withServers,
} from "../workspace/running.ts";
import { rightsIn, type Source, sourceNote } from "../workspace/source.ts";

const STDERR_LINES = 20;

/** The output of `why --json`. */
interface WhyReport {
  readonly server: string;
  /** The running gateway that the server belongs to. */
  readonly gateway?: GatewayField;
  readonly runs: {
    /** False if the server could not start with this config, so that its earlier config is in use. */
    readonly inUse: boolean;
    readonly transport: string;
    /** As in the config file: references such as `${NAME}` stay, values that may be secret are hidden. */
    readonly command: string;
    readonly cwd?: string;
    /** Only names. */
    readonly env: readonly string[];
    readonly headers: readonly string[];
  };
  readonly health: ServerHealth;
  /** The login of the user at a server behind OAuth. */
  readonly login?: LoginState;
  /** Lint findings of the tools that nobody approved, by tool. */
  readonly findings: Readonly<Record<string, readonly LintFinding[]>>;
  readonly diagnostics: readonly Diagnostic[];
  readonly advice: readonly string[];
}

export async function why(cli: Cli, { words, server }: Words): Promise<number> {
  if (server !== undefined)
    throw new PortolanError(
      "USAGE",
      "portolan why takes the name of a server of the workspace, not a command.",
      {
        hint: "To see how Portolan would start a command: portolan why --plan -- <command...>",
      },
    );
  const hint = "portolan why <server>. To see the names of the servers: portolan status";
  const alias = takeOneWord(words, { command: "why", noun: "server", hint });
  const source = await loadSourceOrRunning(cli);
  const own = contractsOf(source);
  const isServer = source.config.servers.some((server) => server.alias === alias);
  const driver = isServer ? undefined : findDriver(own?.endpoint.drivers ?? [], alias);
  if (own !== undefined && driver !== undefined)
    return (await import("./why-driver.ts")).whyDriver(cli, own, driver.id);
  const { toolIn, whyTool } = await import("./why-tool.ts");
  const tool = isServer ? undefined : toolIn(source, alias);
  if (tool !== undefined) return whyTool(cli, source, tool);
  const left = isServer ? [] : diagnosticsAbout(source, alias);
  if (left.length > 0) return (await import("./why-driver.ts")).whyBroken(cli, alias, left);
  const config = await requireServerHere(cli, source, alias);
  const gatewayWaitMs = cli.options.waitMs ?? SHORT_WAIT_MS;
  const open = { only: [alias], start: "eager", gatewayWaitMs, showsSource: true, asGateway: true } as const;
  return withServers(cli, source, open, async ({ workspace, gateway, diagnostics, request }) => {
    request(`checking the health of ${alias}`);
    const healthy = await workspace.healthCheck();
    const [health] = workspace.health();
    if (health === undefined)
      throw new PortolanError(
        "INTERNAL",
        `portolan why found no state of the server ${alias}. This is a defect of Portolan.`,
      );
    const about = diagnostics().filter(({ server }) => server === alias);
    const report: WhyReport = {
      server: alias,
      gateway,
      runs: { inUse: health.failedReplacement?.change !== "config", ...(await toRuns(config)) },
      health,
      login: (await readLogins(cli, [config])).get(alias),
      findings: await findingsOf(workspace, health),
      diagnostics: about,
      advice: adviceOn(config, health, { healthy, about }, cli),
    };
    if (cli.output.form === "json") cli.output.json(report);
    else cli.output.print(describe(report, source, cli));
    return healthy ? 0 : 3;
  });
}

/** Lints the definitions that nobody approved. */
async function findingsOf(workspace: UsedWorkspace, { pins }: ServerHealth): Promise<WhyReport["findings"]> {
  const names = new Set(pins?.differences.map(({ tool }) => tool));
  if (names.size === 0) return {};
  const { lintDefinition } = await import("../../packages/index.ts");
  const tools = (await workspace.pins()).flatMap((one) => one.tools).filter(({ name }) => names.has(name));
  return Object.fromEntries(tools.map(({ name, definition }) => [name, lintDefinition(definition)]));
}

async function toRuns({ endpoint }: ServerConfig): Promise<Omit<WhyReport["runs"], "inUse">> {
  const program =
    endpoint.transport === "stdio" ? endpoint : "program" in endpoint ? endpoint.program : undefined;
  return {
    transport: endpoint.transport,
    command: endpointLabel(endpoint),
    cwd: program?.cwd,
    env: program === undefined ? await neededBy(endpoint) : Object.keys(program.env ?? {}),
    headers: "headers" in endpoint ? Object.keys(endpoint.headers ?? {}) : [],
  };
}

/** The names of the secrets and variables that an mcpfile's server refers to. */
async function neededBy(endpoint: ConfiguredEndpoint): Promise<string[]> {
  if (endpoint.transport !== "invoke") return [];
  const { envNames } = await import("../../invoke/index.ts");
  return [...envNames(endpoint.server)].toSorted();
}

function adviceOn(
  config: ServerConfig,
  health: ServerHealth,
  { healthy, about }: { healthy: boolean; about: readonly Diagnostic[] },
  { io }: Cli,
): string[] {
  const { alias, state, error, origin } = health;
  const place = `${pathLabeller(io)(origin.file)}:${origin.line}`;
  if (state === "disabled") return [disabledHint(health, pathLabeller(io))];
  if (healthy && health.failedReplacement !== undefined)
    return [health.failedReplacement.hint, `Its config is in ${place}.`];
  const denied = about.filter(({ code }) => code === "SANDBOX_DENIED");
  if (healthy && denied.length > 0)
    return [
      denied.every(({ at }) => at !== undefined)
        ? "The server works. Its sandbox denied access to a path in a call. If the server should have this access, grant it as the hint under Diagnostics says."
        : "The server starts, but its sandbox denies access to a file or host. The hint under Diagnostics shows what to do.",
    ];
  if (healthy && about.some(({ code }) => code === "HOST_UNREACHABLE"))
    return ["The server starts, but this machine cannot reach a host that it uses. Check the network."];
  const [difference] = health.pins?.differences ?? [];
  const problem = health.pins?.problem;
  if (healthy && problem !== undefined) return [problem.hint];
  if (healthy && difference !== undefined)
    return [
      `See the differences: portolan pins diff ${alias}`,
      `Approve them: portolan pins approve ${alias}`,
    ];
  if (healthy) return [`No action needed: the server works. To see its tools: portolan list ${alias}`];
  const advice: string[] = [];
  const isPackage = config.endpoint.transport === "stdio" && config.endpoint.kind === "package";
  if (isPackage && error?.hint === ERROR_CODES.SERVER_START_FAILED.hint)
    advice.push(`See how the server is started: portolan why --plan ${alias}`);
  else if (error !== undefined && error.hint !== "") advice.push(error.hint);
  if (state === "starting")
    advice.push(`The server is not ready yet. To wait longer: portolan why ${alias} --wait 5m`);
  advice.push(`Its config is in ${place}.`);
  return advice;
}

/** The driver with this id, or in the folder of this name: a message may name the folder. */
function findDriver(drivers: readonly ConfiguredDriver[], name: string): Driver | undefined {
  const found =
    drivers.find(({ driver: { id } }) => id === name) ??
    drivers.find(({ driver: { origin } }) => {
      const folder = dirname(origin.file);
      return basename(folder) === name && basename(dirname(folder)) === ".drivers";
    });
  return found?.driver;
}

/** The paths and hosts that the sandbox of a server shows: those of its own program, and those that its config grants. */
function grantsLine({ config }: Source, { alias, sandbox }: ServerHealth, io: CliIo): string {
  const server = config.servers.find((server) => server.alias === alias);
  if (server?.endpoint.transport !== "stdio") return "";
  const { fs, network = [] } = server.launch?.sandbox ?? {};
  const { folder = io.cwd } = config;
  const { home } = computerOf(io, folder);
  const label = pathLabeller(io);
  const list = (paths: readonly string[] = []): string =>
    paths.map((path) => label(absolutePath(path, folder, home))).join(", ");
  // Empty for a program of the system, and if grants contain its folder.
  const { ownPaths = [], hiddenFiles } = sandbox ?? {};
  const hidden = hiddenFiles === undefined ? "" : `, except ${list(hiddenFiles)}`;
  const own = ownPaths.length === 0 ? "" : ` (${list(ownPaths)}${hidden})`;
  const read = [`its own program${own}`, ...(fs?.read ?? []).map((path) => list([path]))].join(", ");
  return plainLine(
    `may read ${read}; may write ${list(fs?.write) || "nothing"}; network: ${network.join(", ") || "none"}`,
    2_000,
  );
}

function describe(
  { server, runs, health, login, findings, diagnostics, advice }: WhyReport,
  source: Source,
  { io, output }: Cli,
): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const rows: Row[] = [];
  const add = (name: string, value: string, paint?: Paint): void => void rows.push({ name, value, paint });
  const { since, era, revision, tools, latencyMs, restarts, origin, error, stderr, sandbox, pins } = health;
  const { failedReplacement, program } = health;
  add(
    "state",
    `${healthLabel(health, colors)} since ${new Date(since).toTimeString().slice(0, 8)}${restarts > 0 ? `, restarted ${count(restarts, "time")}` : ""}`,
  );
  const own = runs.transport === "invoke";
  const isAddress = !own && runs.transport !== "stdio" && !runs.command.startsWith("docker ");
  const earlier = runs.inUse ? "" : "its earlier configuration; the new one, which is not in use, is: ";
  add(isAddress ? "reaches" : "runs", earlier + plainLine(runs.command, 4_000));
  add("program", plainLine(program ?? "", 1_000));
  add("in", runs.cwd === undefined || runs.cwd === io.cwd ? "" : label(runs.cwd));
  add("transport", own ? "none: Portolan itself runs the tools of the mcpfile" : runs.transport);
  add(own ? "variables" : "env", runs.env.map((name) => plainLine(name, 100)).join(", "));
  add("headers", runs.headers.map((name) => plainLine(name, 100)).join(", "));
  add("login", login === undefined ? "" : plainLine(describeLogin(login), 400));
  add(
    "pins",
    pins === undefined
      ? ""
      : (describePins(server, pins)[0] ?? `${pins.mode}: all tool definitions are approved`),
  );
  if (sandbox !== undefined) add("sandbox", sandboxLabel(sandbox), sandboxPaint(sandbox.mode, colors));
  else add("sandbox", rightsIn(source)(server) ?? "");
  if (sandbox !== undefined && sandbox.mode !== "off") add("access", grantsLine(source, health, io));
  add("config", `${label(origin.file)}:${origin.line}:${origin.column} (${origin.format})`);
  add("protocol", era === undefined || own ? "" : `${plainLine(revision ?? "", 40)} (${era})`);
  add("tools", era === undefined && tools === 0 ? "" : String(tools));
  add("latency", latencyMs === undefined ? "" : `${latencyMs} ms`);
  add("change", failedReplacement === undefined ? "" : replacementLine(failedReplacement), colors.yellow);
  add("error", error === undefined ? "" : `${plainLine(error.message, 1_000)} [${error.code}]`, colors.red);
  const note = sourceNote(source, io);
  const sections = [`${colors.bold(plainLine(server))}\n${renderRows(rows, output)}`];
  if (note !== undefined) sections.unshift(colors.dim(wrap(note, width)));
  if (stderr) {
    const lines = plainText(stderr).trimEnd().split("\n").slice(-STDERR_LINES);
    const bar = `  ${colors.dim("│")} `;
    const room = width === undefined ? undefined : width - 4;
    const shown = lines.map((line) => bar + wrap(line.slice(0, 500), room).replaceAll("\n", `\n${bar}`));
    sections.push(`${colors.bold("Last lines of stderr")}\n${shown.join("\n")}`);
  }
  if (pins !== undefined && pins.differences.length > 0)
    sections.push(
      `${colors.bold(pins.mode === "enforce" ? "Withheld tools" : "Tools that are not approved")}\n${describeDifferences(pins, findings, output)}`,
    );
  if (diagnostics.length > 0)
    sections.push(
      `${colors.bold("Diagnostics")}\n${diagnostics.map((one) => describeDiagnostic(one, { colors, width, label })).join("\n")}`,
    );
  sections.push(
    `${colors.bold("What to do")}\n${advice.map((line) => wrap(`  ${plainLine(line, 1_000)}`, width)).join("\n")}`,
  );
  return sections.join("\n\n");
}
