// Control of a running `portolan serve`: its control socket, SIGHUP, and the log files of its servers.

import { join } from "node:path";
import { RotatingFile } from "../../base/files/rotating-file.ts";
import { type ControlServer, logFolder, serveControl } from "../../control/index.ts";
import { toPortolanError } from "../../errors/index.ts";
import type { OpenedGateway } from "../../gateway/index.ts";
import type { Cli } from "../context.ts";
import { hasTerminal } from "../terminal/session-terminal.ts";

const MAX_LOG_BYTES = 1024 * 1024;

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
  readonly warn: (text: string) => void;
}

/** Lets other commands find and control the gateway. A gateway that cannot be found still serves. */
export async function openControl(
  cli: Cli,
  gateway: OpenedGateway,
  { path, kind, url, log, stop, isPartial, consoleLink, keepsLogs, warn }: ControlOptions,
): Promise<ControlServer | undefined> {
  if (path === undefined) return undefined;
  try {
    if (keepsLogs) await writeServerLogs(gateway, path);
    return await serveControl({
      ...{ path, kind, url, log, stop, isPartial, consoleLink },
      ...{ version: cli.io.version, workspace: gateway.workspace },
      approvals: () => gateway.approvals,
      serveClient: (input, output) => gateway.serveStdio(input, output),
      reload: () => gateway.reload(),
      budgets: () => gateway.budgets,
      problems: () => (gateway.settingsProblem === undefined ? [] : [gateway.settingsProblem]),
    });
  } catch (thrown) {
    warn(`Other commands cannot find this gateway: ${toPortolanError(thrown).message}`);
    return undefined;
  }
}

/** The file of a server's stderr. Names of servers may contain any character. */
export async function serverLogFile(path: string, server: string): Promise<string> {
  const name = server.replaceAll(/[^\w.-]/g, (char) => `%${(char.codePointAt(0) ?? 0).toString(16)}`);
  return join(await logFolder(path), "servers", `${name.slice(0, 100)}.log`);
}

async function writeServerLogs({ workspace }: OpenedGateway, path: string): Promise<void> {
  const files = new Map<string, Promise<RotatingFile>>();
  workspace.stderrLogs.follow((server, { time, text }) => {
    const file =
      files.get(server) ?? serverLogFile(path, server).then((name) => new RotatingFile(name, MAX_LOG_BYTES));
    files.set(server, file);
    void file.then((opened) => opened.write(`${time} ${text}`));
  });
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
