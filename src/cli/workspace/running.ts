// Running gateway of the workspace: commands use its servers in place of copies of their own.

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { GatewayFacts, RemoteWorkspace, RunningGateway } from "../../control/index.ts";
import type { DriverReport } from "../../contracts/index.ts";
import { type Diagnostic, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { BudgetUse, CallerAccess } from "../../gateway/index.ts";
import type { Workspace } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { createHandlers, answersRequests } from "../input/handlers.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import { describeLog } from "../output/event.ts";
import { requestProgress, withSpinner } from "../output/progress.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { callersIn } from "./callers.ts";
import { type Opened, type OpenOptions, requireNamed, waitFor, withWorkspace } from "./open.ts";
import { workspaceFolder } from "./folder.ts";
import { loadSource, type Source } from "./source.ts";

/** The methods that a workspace of this process and a running gateway share. */
export type UsedWorkspace = Pick<Workspace, keyof RemoteWorkspace & keyof Workspace>;

export interface OpenedServers extends Omit<Opened, "workspace"> {
  readonly workspace: UsedWorkspace;
  /** The running gateway that the servers belong to; undefined for servers of this process. */
  readonly gateway: GatewayField | undefined;
  /** The callers of the gateway with their rules: those in use, or those of the config files. */
  readonly callers: readonly CallerAccess[];
  /** The registered drivers, after waiting for their verification. */
  readonly drivers: (waitMs: number) => Promise<readonly DriverReport[]>;
}

/** The field `gateway` of JSON output. */
export interface GatewayField {
  readonly pid: number;
  readonly url?: string;
  /** The version of Portolan that runs. */
  readonly version: string;
  /** Changes of the config files that the gateway does not use, and why. */
  readonly problems?: readonly string[];
  /** The config files whose changes the gateway ignores: a server may have made them, or the file is gone. */
  readonly ignoredFiles?: readonly string[];
  /** How much callers used of their budgets, the fullest first. */
  readonly budgets?: readonly BudgetUse[];
}

/** Uses the servers of the running gateway if there is one; otherwise opens the workspace. */
export async function withServers<T>(
  cli: Cli,
  source: Source,
  options: OpenOptions,
  use: (opened: OpenedServers) => Promise<T>,
): Promise<T> {
  const around = await findAround(cli, source);
  const gateway = around ?? (await findRunning(cli, source.path));
  // Of a gateway that serves more than this file, only the servers of the file are used.
  const own = around === undefined ? options : { ...options, only: options.only ?? aliasesOf(source) };
  const found = gateway === undefined ? { missing: [] } : await open(cli, gateway, source, own);
  if ("workspace" in found) return withRemote(cli, source, found, own, use);
  const { missing } = found;
  await options.beforeStart?.(gateway, missing);
  if (missing.length > 0) {
    const named = plainLine(missing.join(", "), 300);
    const started = plainLine((own.only ?? missing).join(", "), 300);
    noteOnTerminal(cli, `The gateway does not serve ${named}, so this command starts ${started} itself.`);
  }
  return withWorkspace(cli, source, options, async (opened) =>
    use({
      ...opened,
      gateway: undefined,
      callers: callersIn(source.config.gateway),
      drivers: async (waitMs) => {
        const contracts = await opened.workspace.contracts();
        const late = new Promise((resolve) => setTimeout(resolve, waitMs).unref());
        // Portolan verifies drivers with slow servers in the background.
        await Promise.race([contracts?.settled(), late]);
        return contracts?.status() ?? [];
      },
    }),
  );
}

/** Whether a command would use a running gateway. */
export async function usesGateway(cli: Cli, path: string): Promise<boolean> {
  if (cli.options.standalone || startingOption(cli) !== undefined) return false;
  return (await cli.io.findGateways(path)).gateways.length > 0;
}

function aliasesOf({ config }: Source): string[] {
  return config.servers.map(({ alias }) => alias);
}

/** For a config file that the user named: the gateway of its folder, if it serves the servers of this file. */
async function findAround(cli: Cli, source: Source): Promise<RunningGateway | undefined> {
  const { path } = source;
  if (cli.options.standalone || startingOption(cli) !== undefined || !(await isFile(path))) return undefined;
  if ((await cli.io.findGateways(path)).gateways.length > 0) return undefined;
  const { connectGateway } = await import("../../control/index.ts");
  for (const gateway of (await cli.io.findGateways(dirname(path))).gateways) {
    const client = await connectGateway(gateway).catch(() => undefined);
    const { files = [], servers = [] } = client?.facts ?? {};
    await client?.close();
    if (!files.includes(path) || !aliasesOf(source).every((alias) => servers.includes(alias))) continue;
    noteUsed(cli, gateway);
    return gateway;
  }
  return undefined;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** The running gateway that a command uses; undefined if there is none, or if an option needs servers of its own. */
export async function findRunning(cli: Cli, path: string): Promise<RunningGateway | undefined> {
  if (cli.options.standalone) return undefined;
  const { gateways, problems } = await cli.io.findGateways(path);
  for (const problem of problems) cli.output.note(diagnosticLine(problem, cli.output.noteColors.yellow));
  const [first, ...others] = gateways;
  if (first === undefined) return undefined;
  const flag = startingOption(cli);
  if (flag !== undefined) {
    // With --once, the user typed --read, --write or --net.
    const fact = flag.startsWith("--allow-") ? "The grants of this command apply" : `${flag} applies`;
    // A second copy of a server may matter to its data, so this is said in a pipe too.
    cli.output.note(
      cli.output.noteColors.dim(
        `${fact} to this run only, so this command starts a second copy of the server; the gateway ${gatewayLabel(first)} keeps its own copy.`,
      ),
    );
    return undefined;
  }
  noteUsed(cli, first, others);
  return first;
}

function noteUsed(cli: Cli, gateway: RunningGateway, others: readonly RunningGateway[] = []): void {
  const more =
    others.length === 0
      ? ""
      : ` Other running gateways: ${others.map(gatewayLabel).join(", ")}. To stop one: portolan stop --pid <pid>`;
  noteOnTerminal(
    cli,
    `Using the gateway ${gatewayLabel(gateway)}; --standalone starts separate servers.${more}`,
  );
}

/** A source; `isBroken` if its config files have errors, and a running gateway still uses the config from before. */
export type SourceOrRunning = Source & { readonly isBroken?: true };

/** The source of the workspace. With broken config files, the config of the running gateway. */
export async function loadSourceOrRunning(cli: Cli, showsNote = true): Promise<SourceOrRunning> {
  try {
    return await loadSource(cli);
  } catch (thrown) {
    const path = workspaceFolder(cli.io, cli.options);
    const isInvalid = isPortolanError(thrown) && thrown.code === "FILE_INVALID";
    if (!isInvalid || !(await usesGateway(cli, path))) throw thrown;
    const [gateway] = (await cli.io.findGateways(path)).gateways;
    const config = gateway && (await configOf(gateway).catch(() => undefined));
    if (config === undefined) throw thrown;
    if (showsNote) cli.output.note(cli.output.noteColors.yellow(BROKEN));
    const diagnostics = (thrown.data["diagnostics"] ?? []) as readonly Diagnostic[];
    const nothing = { files: [], ofDrivers: [], leftOut: [] };
    return { kind: "workspace", path, diagnostics, config, ...nothing, isBroken: true };
  }
}

/** The note about config files that cannot be used now. */
export const BROKEN =
  "The config files have errors. The running gateway continues to use the earlier version of each file with an error. To see the errors: portolan validate";

async function configOf(gateway: RunningGateway): Promise<Source["config"]> {
  const { connectGateway } = await import("../../control/index.ts");
  const client = await connectGateway(gateway);
  try {
    return await client.config();
  } finally {
    await client.close();
  }
}

/** `at http://127.0.0.1:7420/mcp (process 1234)` */
export function gatewayLabel({ kind, url, pid }: Pick<RunningGateway, "kind" | "url" | "pid">): string {
  return `${kind === "stdio" ? "on stdio" : `at ${plainLine(url ?? "", 200)}`} (process ${pid})`;
}

export function toGatewayField(
  { pid, url, portolan: version }: RunningGateway,
  {
    problems = [],
    ignoredFiles = [],
    budgets = [],
  }: Partial<Pick<GatewayFacts, "problems" | "ignoredFiles" | "budgets">> = {},
): GatewayField {
  return {
    ...{ pid, url, version },
    problems: problems.length === 0 ? undefined : problems,
    ignoredFiles: ignoredFiles.length === 0 ? undefined : ignoredFiles,
    budgets: budgets.length === 0 ? undefined : budgets,
  };
}

/** In a pipe, stderr is for errors; the JSON output has the field `gateway`. */
export function noteOnTerminal({ io, output }: Cli, text: string): void {
  if (io.stderr.isTTY === true) output.note(output.noteColors.dim(text));
}

/** An option that changes how servers start, which a running one cannot do. */
export function startingOption({ options }: Cli): string | undefined {
  const { modes, network, read, write } = options.sandbox;
  const given = [
    ["--sandbox", Object.keys(modes).length > 0],
    ["--allow-net", network.length > 0],
    ["--allow-read", read.length > 0],
    ["--allow-write", write.length > 0],
    ["--root", options.roots.length > 0],
    ["--era", options.era !== undefined],
    ["--driver-code", options.driverCode],
    ["--env-file", options.envFile !== undefined],
    ["--start-timeout", options.limits.startTimeoutMs !== undefined],
  ] as const;
  return given.find(([, isGiven]) => isGiven)?.[0];
}

interface Remote {
  readonly gateway: RunningGateway;
  readonly workspace: RemoteWorkspace;
  readonly setSpinner: (spinner: Parameters<typeof createHandlers>[2]) => void;
}

/**
 * Returns the servers that the command names and the gateway does not serve, if there are any. Throws if the gateway ignores the file of this
 * server: a sandboxed server may have written the file to start a program of its choice.
 */
async function open(
  cli: Cli,
  gateway: RunningGateway,
  source: Source,
  options: OpenOptions,
): Promise<Remote | { readonly missing: readonly string[] }> {
  let handlers: ReturnType<typeof createHandlers> | undefined;
  const stdinTaken = options.stdinTaken === true;
  const workspace = await cli.io.openRunning(gateway, {
    only: options.only,
    handlers: {
      elicit: async (request, context) =>
        (await handlers?.elicit?.(request, context)) ?? { action: "decline" as const },
    },
    attended: answersRequests(cli, stdinTaken),
    limits: cli.options.limits,
  });
  const served = workspace.gateway.facts.servers;
  const missing = options.only?.filter((alias) => !served.includes(alias)) ?? [];
  if (missing.length > 0) {
    await workspace.close();
    for (const alias of missing) refuseUntrusted(source, alias, gateway, workspace.gateway.facts);
    return { missing };
  }
  const label = options.only?.length === 1 ? (options.only[0] as string) : "this workspace";
  const setSpinner: Remote["setSpinner"] = (spinner) => {
    handlers = createHandlers(cli, label, spinner, stdinTaken);
  };
  return { gateway, workspace, setSpinner };
}

function refuseUntrusted(
  { config }: Source,
  server: string,
  gateway: RunningGateway,
  { ignoredFiles = [], problems }: GatewayFacts,
): void {
  const file = config.servers.find(({ alias }) => alias === server)?.origin.file;
  if (file === undefined || !ignoredFiles.includes(file)) return;
  const problem = problems.find((one) => one.startsWith(file)) ?? "";
  throw new PortolanError(
    "FILE_UNTRUSTED",
    `The gateway ${gatewayLabel(gateway)} does not serve ${plainLine(server, 80)}. ${plainLine(problem, 1_000)}`,
    { server, hint: "To start the server nevertheless, without the gateway: --standalone", data: { file } },
  );
}

async function withRemote<T>(
  cli: Cli,
  source: Source,
  { gateway, workspace, setSpinner }: Remote,
  options: OpenOptions,
  use: (opened: OpenedServers) => Promise<T>,
): Promise<T> {
  const { output, interrupt } = cli;
  try {
    if (source.config.servers.length > 0) requireNamed(source, options.only);
    return await withSpinner(cli, async (spinner) => {
      setSpinner(spinner);
      if (cli.options.verbose)
        workspace.on("log", (message) => output.note(describeLog(message, output.noteColors)));
      const waitMs = options.gatewayWaitMs ?? options.waitMs ?? cli.options.waitMs;
      await waitFor(workspace, waitMs, interrupt.signal, spinner);
      return await use({
        workspace,
        gateway: toGatewayField(gateway, workspace.gateway.facts),
        callers: workspace.gateway.facts.callers ?? callersIn(source.config.gateway),
        drivers: (ms) => workspace.drivers(ms),
        request: requestProgress(cli, spinner),
        diagnostics: () => [...source.diagnostics, ...workspace.diagnostics],
      });
    });
  } finally {
    await workspace.close();
  }
}
