// Control of a running `portolan serve`: its control socket, SIGHUP, and the log files of its servers.

import { join } from "node:path";
import { RotatingFile } from "../../base/files/rotating-file.ts";
import { type ControlServer, logFolder, serveControl } from "../../control/index.ts";
import { type Diagnostic, hintedMessage, locatedMessage, toPortolanError } from "../../errors/index.ts";
import type { OpenedGateway } from "../../gateway/index.ts";
import type { LogLine } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { callersIn } from "../workspace/callers.ts";
import { hasTerminal } from "../terminal/session-terminal.ts";

const MAX_LOG_BYTES = 1024 * 1024;

/** The variable by which `serve --daemon` says to its gateway that it runs in the background. */
export const BACKGROUND = "PORTOLAN_BACKGROUND";

export interface ControlOptions {
  /** The served folder or config file; undefined for a server of the command line, which other commands do not look for. */
  readonly path: string | undefined;
  readonly kind: "http" | "stdio";
  readonly url?: string;
  readonly log?: string;
  readonly stop: () => void;
  /** True if only some servers of the workspace are served. */
  readonly isPartial: boolean;
  /** Creates a link that signs in to the console; absent with --stdio. */
  readonly consoleLink?: () => string | undefined;
  /** False if nothing about the servers may be stored. */
  readonly keepsLogs: boolean;
  /** True in the background, where no terminal could stop a gateway that other commands do not find. */
  readonly isRequired: boolean;
  readonly warn: (text: string) => void;
}

/** Lets other commands find and control the gateway. A gateway that cannot be found still serves, unless it runs in the background. */
export async function openControl(
  cli: Cli,
  gateway: OpenedGateway,
  { path, kind, url, log, stop, isPartial, consoleLink, keepsLogs, isRequired, warn }: ControlOptions,
): Promise<ControlServer | undefined> {
  if (path === undefined) return undefined;
  // Other commands read the config files themselves, so they do not know these errors.
  const ignored = (): readonly Diagnostic[] =>
    gateway.diagnostics.filter(
      ({ code, severity, file }) =>
        code === "FILE_UNTRUSTED" || (code === "FILE_FAILED" && severity === "error" && file !== undefined),
    );
  try {
    if (keepsLogs) writeServerLogs(gateway, path);
    return await serveControl({
      ...{ path, kind, url, log, stop, isPartial, consoleLink },
      ...{ version: cli.io.version, workspace: gateway.workspace },
      approvals: () => gateway.approvals,
      serveClient: (input, output) => gateway.serveStdio(input, output),
      reload: (changes) => gateway.reload(changes),
      budgets: () => gateway.budgets,
      callers: () => callersIn(gateway.settings),
      problems: () => [
        ...ignored().map((one) => locatedMessage({ ...one, message: hintedMessage(one) })),
        ...(gateway.settingsProblem === undefined ? [] : [gateway.settingsProblem]),
      ],
      ignoredFiles: () => ignored().flatMap(({ file }) => file ?? []),
    });
  } catch (thrown) {
    if (isRequired) throw thrown;
    const { message, hint } = toPortolanError(thrown);
    warn(
      `The gateway serves its clients, but other portolan commands (status, logs, approve, stop) cannot find it: ${message.replace(/\.$/, "")}. ${hint}`,
    );
    return undefined;
  }
}

/** The file of a server's stderr. Names of servers may contain any character. */
export async function serverLogFile(path: string, server: string): Promise<string> {
  const name = server.replaceAll(/[^\w.-]/g, (char) => `%${(char.codePointAt(0) ?? 0).toString(16)}`);
  return join(await logFolder(path), "servers", `${name.slice(0, 100)}.log`);
}

function writeServerLogs({ workspace }: OpenedGateway, path: string): void {
  const files = new Map<string, Promise<RotatingFile>>();
  const write = (server: string, { time, text }: LogLine): void => {
    const file =
      files.get(server) ?? serverLogFile(path, server).then((name) => new RotatingFile(name, MAX_LOG_BYTES));
    files.set(server, file);
    void file.then((opened) => opened.write(`${time} ${text}`));
  };
  // The servers started before, and the reason of a failed start is among their first lines.
  for (const { alias, stderrLog } of workspace.hub.members)
    for (const line of stderrLog.tail(Infinity)) write(alias, line);
  workspace.stderrLogs.follow(write);
}

/**
 * Calls `reload` at SIGHUP. When the terminal of the command was closed, SIGHUP means the end instead. Returns the function that
 * removes the listener.
 */
export function onHangUp({ io }: Pick<Cli, "io">, reload: () => void, stop: () => void): () => void {
  const hadTerminal = hasTerminal();
  const listener = (): void => (hadTerminal && !hasTerminal() ? stop() : reload());
  io.signals.on("SIGHUP", listener);
  return () => void io.signals.off("SIGHUP", listener);
}
