// Connects to a server given on the command line, and closes the connection at the end; checks that its program exists.

import { accessSync, constants, statSync } from "node:fs";
import { extname, isAbsolute, join, resolve } from "node:path";
import { DEFAULT_SEARCH_PATH, searchFolders, windowsEndings } from "../../base/process/program-path.ts";
import type { McpConnection, McpStdioConfig } from "../../client/index.ts";
import { changedError, ERROR_CODES, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { PinHealth } from "../../hub/index.ts";
import type { Cli, Words } from "../context.ts";
import { createHandlers } from "../input/handlers.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { describeLog } from "../output/event.ts";
import { requestProgress, type RequestProgress, withSpinner } from "../output/progress.ts";
import { formatDownload } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import type { GatewayField } from "../workspace/running.ts";
import type { OtherNames } from "./find-named.ts";
import { toConfig } from "./server-config.ts";
import { type CommandState, commandTarget, parseTarget, type Target, type TargetContext } from "./target.ts";

/** The methods of a connection that commands use; a server of the workspace offers the same ones. */
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
  /** The name that the user typed for the server. */
  readonly label: string;
  readonly connectMs: number;
  /** The running gateway that the server belongs to. */
  readonly gateway?: GatewayField;
  /** The other names of a listed tool or prompt. */
  readonly otherNames?: (kind: "tool" | "prompt", listed: string) => OtherNames;
  /** The pins of the one server that the session is with. */
  readonly pins?: () => PinHealth | undefined;
  /** The error for a tool that is withheld; undefined for others. */
  readonly withheld?: (name: string) => PortolanError | undefined;
  readonly request: RequestProgress;
}

export interface SessionOptions {
  /** True when stdin was read already, so that no server request can be answered on it. */
  readonly stdinTaken?: boolean;
  /** True when the command shows the diagnostics itself. */
  readonly showsDiagnostics?: boolean;
}

/** Takes the target out of the words: the command after `--`, or else the first word. */
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
    throw new PortolanError("USAGE", "No target was given.", {
      hint: 'Name a server, a config file, a URL or a quoted command: portolan list "npx -y some-server"',
    });
  }
  return { target: parseTarget(first, context), rest };
}

/** Connects to a server given on the command line, runs `use`, and closes the connection in any case. */
export async function withServer<T>(
  given: Cli,
  target: Target,
  use: (session: Session) => Promise<T>,
  { stdinTaken = false, showsDiagnostics = false }: SessionOptions = {},
): Promise<T> {
  // Options that do not fit the target are reported before any question.
  const { withNoticedOptions } = await import("../grants/notice.ts");
  const cli = await withNoticedOptions(given, target, { stdinTaken });
  const { io, output, interrupt } = cli;
  return withSpinner(cli, async (spinner) => {
    const config = toConfig(target, cli.options, io.cwd, {
      handlers: createHandlers(cli, target.label, spinner, stdinTaken),
      signal: interrupt.signal,
      onDiagnostic: (diagnostic) => {
        if (!showsDiagnostics) noteDiagnostic(diagnostic, cli);
      },
    });
    interrupt.signal.throwIfAborted();
    const started = performance.now();
    spinner.start(`connecting to ${plainLine(target.label, 60)}`);
    const onInstalling: McpStdioConfig["onInstalling"] = (what, bytes) => {
      if (bytes === undefined) spinner.start(plainLine(what, 60));
      else spinner.update(formatDownload(bytes));
    };
    const connection = await io
      .connect(config.transport === "stdio" ? { ...config, onInstalling } : config)
      .catch((thrown: unknown) => {
        throw withPlanHint(thrown);
      });
    try {
      const connectMs = Math.round(performance.now() - started);
      if (cli.options.verbose)
        connection.on("log", (message) => output.note(describeLog(message, output.noteColors)));
      return await use({
        connection,
        label: target.label,
        connectMs,
        request: requestProgress(cli, spinner),
      });
    } finally {
      spinner.stop();
      await connection.close().catch((thrown: unknown) => {
        if (cli.options.verbose)
          output.note(`The connection to the server could not be closed: ${plainText(String(thrown))}`);
      });
    }
  });
}

/** The usual hint of a failed start is to start the command alone, which this command has just done. */
function withPlanHint(thrown: unknown): unknown {
  if (!isPortolanError(thrown) || thrown.hint !== ERROR_CODES.SERVER_START_FAILED.hint) return thrown;
  if (thrown.data["startTimeoutMs"] !== undefined) return thrown;
  const output = thrown.stderr ? "Read the last lines of the server's stderr. " : "";
  const plan = "To see how Portolan starts the command: portolan why --plan -- <command...>";
  return changedError(thrown, { hint: `${output}${plan}` });
}

interface ProbeContext {
  readonly cwd: string;
  readonly path: string | undefined;
  readonly windows: boolean;
  /** Windows only: the file extensions of programs. */
  readonly pathExtensions?: string;
}

export function probeCommand(command: string, context: ProbeContext): CommandState {
  const endings = context.windows ? windowsEndings(command, context.pathExtensions) : [""];
  const isPath = command.includes("/") || (context.windows && command.includes("\\")) || isAbsolute(command);
  const folders = isPath ? [""] : searchFolders(context.path ?? DEFAULT_SEARCH_PATH);
  let best: CommandState = "missing";
  for (const folder of folders) {
    for (const ending of endings) {
      const state = probeFile(resolve(context.cwd, join(folder, command + ending)), context.windows);
      if (state === "found") return state;
      if (isPath && best === "missing") best = state;
    }
  }
  if (best === "missing" && !isPath) {
    const here = probeFile(resolve(context.cwd, command), context.windows);
    if (here === "directory" || (here !== "missing" && extname(command) !== ""))
      return here === "found" ? "missing" : here;
  }
  return best;
}

function probeFile(path: string, windows: boolean): CommandState {
  try {
    if (statSync(path).isDirectory()) return "directory";
    if (!windows) accessSync(path, constants.X_OK);
    return "found";
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EACCES" ? "not-executable" : "missing";
  }
}
