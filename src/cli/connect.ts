// From a target and options to a live connection, and back to nothing left running.

import { resolve } from "node:path";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import type { LogMessage } from "../model/index.ts";
import type { McpConnection, McpOptions, McpStdioConfig, RequestOptions } from "../client/index.ts";
import { describeBytes } from "./bytes.ts";
import { describeDiagnostic } from "./diagnostic.ts";
import { createElicit } from "./elicit.ts";
import type { OtherNames } from "./find-named.ts";
import type { Interrupt } from "./interrupt.ts";
import type { CliIo } from "./io.ts";
import type { ServerOptions } from "./options.ts";
import type { Output } from "./output.ts";
import { plainLine, plainText, toJsonText } from "./plain-text.ts";
import { probeCommand } from "./probe-command.ts";
import { toConfig } from "./server-config.ts";
import { createSpinner, type Spinner } from "./spinner.ts";
import { commandTarget, parseTarget, type Target, type TargetContext } from "./target.ts";

/** What a running command works with. */
export interface Cli {
  readonly io: CliIo;
  readonly output: Output;
  readonly interrupt: Interrupt;
  readonly options: ServerOptions;
}

/** What commands use of a connection: to a server given on the command line, or to one of the workspace. */
export type UsedConnection = Pick<
  McpConnection,
  | "server"
  | "diagnostics"
  | "listToolDefinitions"
  | "callTool"
  | "listResources"
  | "listResourceTemplates"
  | "readResource"
  | "listPrompts"
  | "getPrompt"
>;

export interface Session {
  readonly connection: UsedConnection;
  /** What the user calls the server. */
  readonly label: string;
  readonly connectMs: number;
  /** The names of a listed tool or prompt beside the listed one. */
  readonly otherNames?: ((kind: "tool" | "prompt", listed: string) => OtherNames) | undefined;
  /** Options for one request, which the spinner shows under this label from now on. */
  readonly request: (label: string) => RequestOptions & { signal: AbortSignal };
}

export interface SessionOptions {
  /** stdin was read already, so that nobody can answer a question on it. */
  readonly stdinTaken?: boolean;
  /** The command shows the diagnostics itself. */
  readonly showsDiagnostics?: boolean;
}

/** The words of a command line: those of the command itself, and those after `--`, which are a server's command. */
export interface Words {
  readonly words: readonly string[];
  readonly server: readonly string[] | undefined;
}

/** Takes the target out of the words: what stands after `--`, or else the first word. */
export function takeTarget({ words, server }: Words, cli: Cli): { target: Target; rest: readonly string[] } {
  const windows = cli.io.platform === "win32";
  const context: TargetContext = {
    windows,
    probe: (command) =>
      probeCommand(command, {
        cwd: resolve(cli.io.cwd, cli.options.cwd ?? "."),
        path: cli.options.env["PATH"] ?? cli.io.env["PATH"],
        windows,
        pathExtensions: cli.io.env["PATHEXT"],
      }),
  };
  if (server !== undefined) return { target: commandTarget(server, context), rest: words };
  const [first, ...rest] = words;
  if (first === undefined) {
    throw new PortolanError("USAGE", "No target is given.", {
      hint: 'Give a URL or a quoted command: portolan list "npx -y some-server"',
    });
  }
  return { target: parseTarget(first, context), rest };
}

/** Connects, lets `use` work, and closes again, whatever happens. */
export async function withServer<T>(
  cli: Cli,
  target: Target,
  use: (session: Session) => Promise<T>,
  { stdinTaken = false, showsDiagnostics = false }: SessionOptions = {},
): Promise<T> {
  const { io, output, interrupt } = cli;
  const spinner = spinnerOf(cli);
  const config = toConfig(target, cli.options, io.cwd, {
    handlers: createHandlers(cli, target.label, spinner, stdinTaken),
    signal: interrupt.signal,
    onDiagnostic: (diagnostic) => {
      if (!showsDiagnostics) noteDiagnostic(diagnostic, cli);
    },
  });
  output.around(spinner);
  let connection: McpConnection | undefined;
  try {
    interrupt.signal.throwIfAborted();
    const started = performance.now();
    spinner.start(`connecting to ${plainLine(target.label, 60)}`);
    const onInstalling: McpStdioConfig["onInstalling"] = (what, bytes) => {
      if (bytes === undefined) spinner.start(plainLine(what, 60));
      else spinner.update(describeBytes(bytes));
    };
    connection = await io.connect(config.transport === "stdio" ? { ...config, onInstalling } : config);
    const connectMs = Math.round(performance.now() - started);
    if (cli.options.verbose) connection.on("log", (message) => output.note(describeLog(message, cli)));
    return await use({ connection, label: target.label, connectMs, request: requests(cli, spinner) });
  } finally {
    spinner.stop();
    output.around(undefined);
    await connection?.close().catch((thrown: unknown) => {
      if (cli.options.verbose) output.note(`closing failed: ${plainText(String(thrown))}`);
    });
  }
}

export function spinnerOf({ io, output }: Pick<Cli, "io" | "output">): Spinner {
  return createSpinner({
    stream: io.stderr,
    colors: output.noteColors,
    enabled: io.stderr.isTTY === true && !output.quiet && io.env["TERM"] !== "dumb",
    unicode: io.platform !== "win32" || io.env["WT_SESSION"] !== undefined,
  });
}

/** Options for requests that the spinner shows. */
export function requests({ interrupt }: Pick<Cli, "interrupt">, spinner: Spinner): Session["request"] {
  return (label) => {
    spinner.start(label);
    return {
      signal: interrupt.signal,
      onProgress: ({ progress, total, message }) => {
        const amount = total === undefined ? `${progress}` : `${progress} of ${total}`;
        spinner.update(message === undefined ? amount : `${amount}, ${message}`);
      },
    };
  };
}

/** Whether somebody is there to answer questions. */
export function canAsk({ io, options }: Pick<Cli, "io" | "options">, stdinTaken: boolean): boolean {
  return options.input && !stdinTaken && io.stdin.isTTY === true && io.stderr.isTTY === true;
}

export function createHandlers(
  cli: Cli,
  label: string,
  spinner: Spinner,
  stdinTaken: boolean,
): NonNullable<McpOptions["handlers"]> {
  const { io, output } = cli;
  const interactive = canAsk(cli, stdinTaken);
  return {
    elicit: createElicit({
      server: label,
      prompter: interactive ? () => io.createPrompter(output.noteColors.enabled) : undefined,
      note: (text) => output.note(text),
      openBrowser: io.openBrowser,
      withTerminal: (work) => spinner.pausedFor(work),
    }),
  };
}

export function noteDiagnostic(
  diagnostic: Diagnostic,
  { output, options }: Pick<Cli, "output" | "options">,
): void {
  const { severity, code, hint } = diagnostic;
  // A server that is kept from a host seldom says so itself, and its failures are hard to read without it.
  const isRefusal = code === "SANDBOX_DENIED";
  if (severity !== "error" && !options.verbose && !isRefusal) return;
  output.note(describeDiagnostic(diagnostic, output.noteColors.yellow));
  if (isRefusal && hint !== undefined)
    output.note(`${output.noteColors.cyan(" hint")} ${plainLine(hint, 1_000)}`);
}

export function describeLog({ level, logger, data }: LogMessage, { output }: Cli): string {
  const text = typeof data === "string" ? plainText(data) : toJsonText(data);
  return `${output.noteColors.dim(`log ${plainLine(level, 20)}${logger === undefined ? "" : ` ${plainLine(logger, 60)}`}`)} ${text}`;
}
