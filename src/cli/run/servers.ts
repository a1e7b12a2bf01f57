// Servers of a script, opened with the options of the command: sandbox, limits, prompts and notes.

import type { McpStdioConfig } from "../../client/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { createWorkspaceServers, type LockedServerPackage, type ScriptServers } from "../../script/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests, createHandlers } from "../input/handlers.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { sandboxOfCommand, workspaceSandbox } from "../options/sandbox.ts";
import { throwUsageErrors } from "../options/usage-error.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { describeLog } from "../output/event.ts";
import { formatDownload } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Spinner } from "../terminal/spinner.ts";
import type { Source } from "../workspace/source.ts";

interface ServersContext {
  readonly cli: Cli;
  /** The workspace; undefined when the script imports no package. */
  readonly source: Source | undefined;
  readonly spinner: Spinner;
  readonly redactor: Redactor;
  /** The packages of the workspace's servers, from the lock file. */
  readonly locked: ReadonlyMap<string, LockedServerPackage>;
}

export function createServers({ cli, source, spinner, redactor, locked }: ServersContext): ScriptServers {
  const { io, output, interrupt, options } = cli;
  const { modes, ...ofCommands } = options.sandbox;
  const none = { network: [], read: [], write: [] };
  const sandbox = source === undefined ? undefined : workspaceSandbox({ modes, ...none }, source);
  const problems: string[] = [];
  const commandSandbox = sandboxOfCommand(
    { ...ofCommands, modes: source === undefined ? modes : {} },
    io.cwd,
    problems,
  );
  throwUsageErrors(problems);
  const onDiagnostic = (diagnostic: Diagnostic): void =>
    noteDiagnostic(redactor.redactValue(diagnostic), cli);
  const noteLog = (message: Parameters<typeof describeLog>[0]): void =>
    output.note(describeLog(redactor.redactValue(message), output.noteColors));
  return createWorkspaceServers({
    config: source?.config,
    locked,
    openWorkspace: async (config, terms, name) => {
      spinner.start(`starting ${plainLine(name, 60)}`);
      const servers = config.servers.map((server) => ({
        ...server,
        limits: { ...server.limits, ...options.limits },
      }));
      const workspace = await io.openWorkspace(
        { ...config, servers },
        {
          ...(source?.kind === "clients" ? { snapshots: false as const } : {}),
          ...terms,
          handlers: createHandlers(cli, name, spinner, false, redactor),
          onEvent: (event) => showInstallation(event, spinner),
          reportsFailures: false,
          attended: answersRequests(cli, false),
          promptPassphrase: createPassphrasePrompt(cli, spinner).prompt,
          onDiagnostic,
          ...(sandbox === undefined ? {} : { sandbox }),
        },
      );
      if (options.verbose) workspace.on("log", noteLog);
      return workspace;
    },
    connect: async (target, name) => {
      spinner.start(`starting ${plainLine(name, 60)}`);
      const common = {
        ...{ name: plainLine(name, 120), limits: options.limits, watch: false, signal: interrupt.signal },
        ...{ handlers: createHandlers(cli, name, spinner, false, redactor), onDiagnostic },
        ...(options.verbose ? { logLevel: "info" as const } : {}),
      };
      const onInstalling: McpStdioConfig["onInstalling"] = (what, bytes) => {
        if (bytes === undefined) spinner.start(plainLine(what, 60));
        else spinner.update(formatDownload(bytes));
      };
      const connection = await io.connect(
        target.transport === "stdio"
          ? { ...common, ...target, onInstalling, ...(commandSandbox && { sandbox: commandSandbox }) }
          : { ...common, ...target },
      );
      if (options.verbose) connection.on("log", noteLog);
      return connection;
    },
  });
}

function showInstallation(event: HubEvent, spinner: Spinner): void {
  if (event.type !== "mcp.server_installing") return;
  if (event.bytes !== undefined) spinner.update(formatDownload(event.bytes));
  else spinner.start(`${event.server}: ${plainLine(event.reason ?? "", 60)}`);
}
