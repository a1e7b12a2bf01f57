// From a target and options to a live connection, and back to nothing left running.

import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import type { LogMessage, Root } from "../model/index.ts";
import type { McpConfig, McpConnection, McpOptions, RequestOptions } from "../tools/index.ts";
import { createElicit } from "./elicit.ts";
import type { Interrupt } from "./interrupt.ts";
import type { CliIo } from "./io.ts";
import type { ServerOptions } from "./options.ts";
import type { Output } from "./output.ts";
import { plainLine, plainText, toJsonText } from "./plain-text.ts";
import { probeCommand } from "./probe-command.ts";
import { createSpinner, type Spinner } from "./spinner.ts";
import { commandTarget, parseTarget, type Target, type TargetContext } from "./target.ts";

/** What a running command works with. */
export interface Cli {
  readonly io: CliIo;
  readonly output: Output;
  readonly interrupt: Interrupt;
  readonly options: ServerOptions;
}

export interface Session {
  readonly connection: McpConnection;
  /** What the user calls the server. */
  readonly label: string;
  readonly connectMs: number;
  /** Options for one request, which the spinner shows under this label from now on. */
  readonly request: (label: string) => RequestOptions & { signal: AbortSignal };
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
  stdinTaken = false,
): Promise<T> {
  const { io, output, interrupt } = cli;
  const spinner = createSpinner({
    stream: io.stderr,
    colors: output.noteColors,
    enabled: io.stderr.isTTY === true && !output.quiet && io.env["TERM"] !== "dumb",
    unicode: io.platform !== "win32" || io.env["WT_SESSION"] !== undefined,
  });
  const config = toConfig(cli, target, createHandlers(cli, target, spinner, stdinTaken));
  output.around(spinner);
  let connection: McpConnection | undefined;
  try {
    interrupt.signal.throwIfAborted();
    const started = performance.now();
    spinner.start(`connecting to ${plainLine(target.label, 60)}`);
    connection = await io.connect(config);
    const connectMs = Math.round(performance.now() - started);
    if (cli.options.verbose) connection.on("log", (message) => output.note(describeLog(message, cli)));
    const request: Session["request"] = (label) => {
      spinner.start(label);
      return {
        signal: interrupt.signal,
        onProgress: ({ progress, total, message }) => {
          const amount = total === undefined ? `${progress}` : `${progress} of ${total}`;
          spinner.update(message === undefined ? amount : `${amount}, ${message}`);
        },
      };
    };
    return await use({ connection, label: target.label, connectMs, request });
  } finally {
    spinner.stop();
    output.around(undefined);
    await connection?.close().catch((thrown: unknown) => {
      if (cli.options.verbose) output.note(`closing failed: ${plainText(String(thrown))}`);
    });
  }
}

/** The library's configuration; throws one USAGE error for all options that do not fit the target. */
export function toConfig(
  cli: Pick<Cli, "io" | "options" | "interrupt" | "output">,
  target: Target,
  handlers: McpOptions["handlers"],
): McpConfig {
  const { options, io } = cli;
  const problems: string[] = [];
  const common: McpOptions = {
    name: plainLine(target.label, 120),
    limits: options.limits,
    watch: false,
    signal: cli.interrupt.signal,
    onDiagnostic: (diagnostic) => noteDiagnostic(diagnostic, cli),
    ...(handlers === undefined ? {} : { handlers: { ...handlers, ...rootsOf(options, io, problems) } }),
    ...(options.era === undefined ? {} : { era: options.era }),
    ...(options.verbose ? { logLevel: "info" } : {}),
  };
  let config: McpConfig;
  if (target.kind === "command") {
    if (Object.keys(options.headers).length > 0) problems.push("--header is for URLs; a command takes --env");
    if (options.transport !== undefined)
      problems.push("--transport is for URLs; a command is spoken to by stdio");
    const cwd = options.cwd === undefined ? undefined : resolve(io.cwd, options.cwd);
    if (cwd !== undefined && !isDirectory(cwd)) problems.push(`--cwd ${options.cwd} is not a directory`);
    config = {
      ...common,
      transport: "stdio",
      command: target.command,
      args: [...target.args],
      env: { ...options.env },
      ...(cwd === undefined ? {} : { cwd }),
    };
  } else {
    if (Object.keys(options.env).length > 0) problems.push("--env is for commands; a URL takes --header");
    if (options.cwd !== undefined) problems.push("--cwd is for commands");
    const transport = options.transport ?? target.transport;
    if ((transport === "websocket") !== (target.transport === "websocket")) {
      problems.push(
        `--transport ${transport} does not fit ${new URL(target.url).protocol}//${transport === "websocket" ? "; use ws:// or wss://" : ""}`,
      );
    }
    config = { ...common, transport, url: target.url, headers: { ...options.headers } };
  }
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
  return config;
}

function createHandlers(
  cli: Cli,
  target: Target,
  spinner: Spinner,
  stdinTaken: boolean,
): NonNullable<McpOptions["handlers"]> {
  const { io, output, options } = cli;
  const interactive = options.input && !stdinTaken && io.stdin.isTTY === true && io.stderr.isTTY === true;
  return {
    elicit: createElicit({
      server: target.label,
      prompter: interactive ? io.createPrompter : undefined,
      note: (text) => output.note(text),
      openBrowser: io.openBrowser,
      withTerminal: (work) => spinner.pausedFor(work),
    }),
  };
}

function rootsOf(options: ServerOptions, io: CliIo, problems: string[]): { roots?: Root[] } {
  if (options.roots.length === 0) return {};
  const roots = options.roots.map((root) => {
    const path = resolve(io.cwd, root);
    if (!isDirectory(path)) problems.push(`--root ${root} is not a directory`);
    return { uri: pathToFileURL(path).href, name: basename(path) };
  });
  return { roots };
}

function noteDiagnostic(diagnostic: Diagnostic, { output, options }: Pick<Cli, "output" | "options">): void {
  if (diagnostic.severity !== "error" && !options.verbose) return;
  output.note(describeDiagnostic(diagnostic, output.noteColors.yellow));
}

export function describeDiagnostic(
  { severity, message, tool, code }: Diagnostic,
  paint: (text: string) => string,
): string {
  const place = tool === undefined ? "" : `${plainLine(tool, 80)}: `;
  return `${paint(severity === "info" ? "note" : severity)} ${place}${plainLine(message, 500)} [${code}]`;
}

function describeLog({ level, logger, data }: LogMessage, { output }: Cli): string {
  const text = typeof data === "string" ? plainText(data) : toJsonText(data);
  return `${output.noteColors.dim(`log ${plainLine(level, 20)}${logger === undefined ? "" : ` ${plainLine(logger, 60)}`}`)} ${text}`;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
