// Opens the workspace for a command: waits for its servers with a spinner, and closes everything at the end.

import type { RunningGateway } from "../../control/index.ts";
import { type Diagnostic, disabledHint, PortolanError } from "../../errors/index.ts";
import type { HubEvent, ServerHealth, Workspace } from "../../hub/index.ts";
import { gatewayCapabilities, type ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests, createHandlers } from "../input/handlers.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { rootsOf } from "../options/roots.ts";
import {
  hasProgram,
  withGrantsOnce,
  workspaceSandbox,
  workspaceSandboxProblems,
} from "../options/sandbox.ts";
import { throwUsageErrors } from "../options/usage-error.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { describeLog } from "../output/event.ts";
import { requestProgress, type RequestProgress, withSpinner } from "../output/progress.ts";
import { formatDownload } from "../terminal/layout.ts";
import { aborted } from "../terminal/interrupt.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { leftOutOf, noteLeftOut } from "./left-out.ts";
import { requireServer, type Source, sourceNote } from "./source.ts";
import { envFileOf } from "./folder.ts";

/** How long commands that show the state of a running gateway wait for servers that have just been started. */
export const SHORT_WAIT_MS = 5_000;

export interface OpenOptions {
  /** The servers to open; undefined means all of them. */
  readonly only?: readonly string[];
  /** Overrides when the servers start. */
  readonly start?: "eager" | "lazy";
  /** How long to wait for servers; their own start timeouts apply as well. */
  readonly waitMs?: number;
  /** The same for the servers of a running gateway, whose state is known without a wait. */
  readonly gatewayWaitMs?: number;
  readonly stdinTaken?: boolean;
  /** True when the command itself shows the source of the servers and the diagnostics. */
  readonly showsSource?: boolean;
  /** False for diagnostics that the command does not concern; undefined means it concerns all of them. */
  readonly concerns?: (diagnostic: Diagnostic) => boolean;
  readonly onEvent?: (event: HubEvent) => void;
  /** Computes the hashes of all tools. */
  readonly hashesTools?: boolean;
  /**
   * Declares the client capabilities of a gateway. Servers offer some tools only to clients that answer server requests, and
   * definitions that are pinned must include them.
   */
  readonly asGateway?: boolean;
  /** Called before this process starts servers, with the running gateway and the named servers that it does not serve. */
  readonly beforeStart?: (gateway: RunningGateway | undefined, missing: readonly string[]) => Promise<void>;
  /** Applies changes of the config files as they are saved. */
  readonly watch?: boolean;
}

export interface Opened {
  readonly workspace: Workspace;
  readonly request: RequestProgress;
  /** The diagnostics of the config files and of the servers so far. */
  readonly diagnostics: () => Diagnostic[];
}

/** Opens the workspace, waits for its servers, runs `use`, and closes the workspace in any case. */
export async function withWorkspace<T>(
  cli: Cli,
  source: Source,
  options: OpenOptions,
  use: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { io, output, interrupt } = cli;
  requireNamed(source, options.only);
  const [alone] = options.only?.length === 1 ? options.only : [];
  const isOne = source.config.servers.some((server) => server.alias === alone && hasProgram(server));
  const sandbox = workspaceSandbox(cli.options.sandbox, source, isOne);
  const config = {
    ...source.config,
    servers: source.config.servers.map((server) => adjust(server, cli, options)),
  };
  const roots = rootsOf(cli.options.roots, io.cwd);
  const label = options.only?.length === 1 ? (options.only[0] as string) : "this workspace";
  const note = options.showsSource === true ? undefined : sourceNote(source, io);
  if (note !== undefined) output.note(output.noteColors.dim(note));
  const followed = options.watch === true && source.kind === "workspace";
  // A followed workspace reports the diagnostics of its files as events.
  if (options.showsSource !== true && !followed)
    noteLeftOut(cli, leftOutOf(source, options.only), options.concerns);
  const stdinTaken = options.stdinTaken === true;
  return withSpinner(cli, async (spinner) => {
    interrupt.signal.throwIfAborted();
    const workspace = await io.openWorkspace(followed ? source.path : config, {
      only: options.only,
      waitMs: 0,
      watchFiles: followed,
      handlers: {
        ...createHandlers(cli, label, spinner, stdinTaken),
        ...(roots.length === 0 ? {} : { roots }),
      },
      onEvent: (event) => {
        if (event.type === "mcp.server_installing") {
          if (event.bytes !== undefined) spinner.update(formatDownload(event.bytes));
          else spinner.start(`${event.server}: ${plainLine(event.reason ?? "", 60)}`);
        } else if (event.type === "mcp.server_started" && options.only?.length === 1)
          spinner.start(`${event.server} is starting`);
        // While a prompt is open, the command prints no events: they would push the prompt away.
        if (spinner.pause === undefined) options.onEvent?.(event);
        else void spinner.pause.then(() => options.onEvent?.(event));
      },
      // The commands show failed servers themselves.
      reportsFailures: false,
      driverCode: cli.options.driverCode,
      envFile: envFileOf(cli),
      hashesTools: options.hashesTools,
      capabilities: options.asGateway === true ? gatewayCapabilities(true) : undefined,
      attended: answersRequests(cli, stdinTaken),
      promptPassphrase: createPassphrasePrompt(cli, spinner).prompt,
      onDiagnostic: (diagnostic) => {
        if (options.showsSource !== true && options.concerns?.(diagnostic) !== false)
          noteDiagnostic(diagnostic, cli);
      },
      snapshots: source.kind === "clients" ? false : undefined,
      sandbox,
    });
    try {
      if (cli.options.verbose)
        workspace.on("log", (message) => output.note(describeLog(message, output.noteColors)));
      await waitFor(workspace, options.waitMs ?? cli.options.waitMs, interrupt.signal, spinner);
      return await use({
        workspace,
        request: requestProgress(cli, spinner),
        diagnostics: () => [...(followed ? [] : source.diagnostics), ...workspace.diagnostics],
      });
    } finally {
      spinner.stop();
      await workspace.close().catch((thrown: unknown) => {
        if (cli.options.verbose) output.note(`The servers could not be closed: ${plainText(String(thrown))}`);
      });
    }
  });
}

/** Throws for a name that no server has. */
export function requireNamed(source: Source, only: readonly string[] | undefined): void {
  for (const alias of only ?? []) requireServer(source, alias);
}

/**
 * Waits until every server is ready or has failed, the time is over, or the user interrupts. While a server waits for a person who
 * types, no time passes.
 */
export async function waitFor(
  workspace: Pick<Workspace, "health" | "settled">,
  ms: number | undefined,
  signal: AbortSignal,
  spinner: Spinner,
): Promise<void> {
  if (ms === 0) return signal.throwIfAborted();
  const count = workspace.health().length;
  spinner.start(count === 1 ? `starting ${workspace.health()[0]?.alias}` : `starting ${count} servers`);
  const ticks = setInterval(() => {
    const health = workspace.health();
    const left = health
      .filter(({ state, retrying }) => state === "starting" || retrying === true)
      .map(({ alias }) => alias);
    const ready = health.filter(({ state }) => state === "ready").length;
    if (count > 1)
      spinner.update(`${ready} ready${left.length === 0 ? "" : `, waiting for ${left.join(", ")}`}`);
  }, 80);
  let timer: NodeJS.Timeout | undefined;
  try {
    const timeout = new Promise<void>((resolve) => {
      const arm = (): void => {
        timer = setTimeout(
          () => (spinner.pause === undefined ? resolve() : void spinner.pause.then(arm)),
          ms,
        );
      };
      if (ms !== undefined) arm();
    });
    await Promise.race([workspace.settled(), aborted(signal), timeout]);
  } finally {
    clearInterval(ticks);
    clearTimeout(timer);
  }
  signal.throwIfAborted();
}

/** Options of the command line override the server config. */
function adjust(server: ServerConfig, { io, options }: Cli, { start, only = [] }: OpenOptions): ServerConfig {
  const limits = { ...server.limits, ...options.limits };
  const isAlone = only.length === 1 && only[0] === server.alias;
  return {
    ...(isAlone ? withGrantsOnce(server, options.sandbox, io.cwd) : server),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(options.era === undefined ? {} : { era: options.era }),
    ...(start === undefined ? {} : { start }),
  };
}

/** Refuses options that only fit a server given on the command line. */
export function refuseTargetOptions({ options }: Cli, isOne = false): void {
  const given = [
    ["--header", Object.keys(options.headers).length > 0],
    ["--env", Object.keys(options.env).length > 0],
    ["--cwd", options.cwd !== undefined],
    ["--transport", options.transport !== undefined],
  ] as const;
  const problems = given
    .filter(([, isGiven]) => isGiven)
    .map(
      ([flag]) =>
        `${flag} works only with a URL or a command; for a server of the workspace, set it in its config`,
    )
    .concat(workspaceSandboxProblems(options.sandbox, isOne));
  throwUsageErrors(problems);
}

/** The error of a server that cannot be used now; undefined when it can. `waits`: the command has the option --wait. */
export function healthError(
  health: ServerHealth,
  { waits = true }: { readonly waits?: boolean } = {},
): PortolanError | undefined {
  const { alias, state, error, stderr } = health;
  if (state === "ready" || state === "idle") return undefined;
  if (state === "disabled")
    return new PortolanError("SERVER_DISABLED", `${alias} is disabled.`, {
      server: alias,
      hint: disabledHint(health),
    });
  if (error !== undefined)
    return new PortolanError(error.code, error.message, {
      ...{ server: alias, hint: error.hint, data: error.data, stderr },
    });
  return new PortolanError("SERVER_START_FAILED", `${alias} is not ready yet (${state}).`, {
    server: alias,
    stderr,
    hint: `${waits ? "To wait longer, add --wait 5m" : "Try again later"}. To see its state: portolan why ${alias}`,
  });
}
