// Option groups: the options that several commands share, with their help. Each group adds its options to a command.

import type { Command } from "commander";

export type OptionGroup = (command: Command) => Command;

/** Collects the values of an option that may be given several times. */
export const collect = (value: string, previous: string[] | undefined): string[] => [
  ...(previous ?? []),
  value,
];

export interface CommandDefinition {
  readonly name: string;
  /** Shown in the list of commands, and at the top of the command's own help. */
  readonly summary: string;
  /** As commander writes it: `[servers...]`. */
  readonly argument?: string;
  readonly groups?: readonly OptionGroup[];
}

/** Adds a command with its option groups; the caller adds the command's own options and its action. */
export function defineCommand(
  parent: Command,
  { name, summary, argument, groups = [] }: CommandDefinition,
): Command {
  const command = parent.command(name).description(summary);
  if (argument !== undefined) command.argument(argument);
  for (const addOptions of groups) addOptions(command);
  return command;
}

/** The form of the output, and how much of it. */
export const outputOptions: OptionGroup = (command) =>
  command
    .option("--json", "print JSON (the default when stdout is not a terminal)")
    .option("--text", "print text even when stdout is not a terminal")
    .option("--quiet", "no progress, notes or warnings")
    .option("--verbose", "show diagnostics, the server's log messages, and causes of errors")
    .option("--no-color", "no colour (also: NO_COLOR, FORCE_COLOR)");

/** The output options of `serve` and `token`, which print text unless JSON is requested. */
export const plainOutputOptions: OptionGroup = (command) =>
  command
    .option("--json", "print JSON on stdout, in place of text")
    .option("--text", "print text (the default)")
    .option("--quiet", "no progress, notes or warnings")
    .option("--verbose", "show diagnostics, each call, and causes of errors")
    .option("--no-color", "no colour (also: NO_COLOR, FORCE_COLOR)");

export const workspaceOption: OptionGroup = (command) =>
  command.option(
    "-w, --workspace <path>",
    "the folder or the config file with the servers (default: this folder)",
  );

/** Where a gateway listens, and who may use it: `serve` and `service install`. */
export const gatewayOptions: OptionGroup = (command) =>
  command
    .option("--host <host>", "the address to listen at (default: 127.0.0.1)")
    .option("--port <port>", "the port to listen at; 0 is any free one (default: 7420)")
    .option(
      "--only <server>",
      "serve only this server of the workspace (repeatable; default: all servers)",
      collect,
    )
    .option("--no-auth", "require no token: accept every client that can reach the gateway")
    .option(
      "--allow-host <name>",
      "a host name under which clients may reach the gateway (repeatable)",
      collect,
    )
    .option(
      "--allow-origin <origin>",
      "the origin of a web page that may use the gateway (repeatable)",
      collect,
    )
    .option("--tls-cert <file>", "serve HTTPS with this certificate (PEM)")
    .option("--tls-key <file>", "the key of the certificate (PEM)")
    .option("--sse", "also serve the old HTTP+SSE transport")
    .option("--websocket", "also serve WebSocket");

/** For commands that start the servers of the workspace: what they may use beyond the config files. */
export const driverCodeOption: OptionGroup = (command) =>
  command
    .option(
      "--driver-code",
      "allow drivers to run their own code files, with all your rights and without a sandbox",
    )
    .option(
      "--env-file <file>",
      "a .env file with values of ${NAME} references; Portolan reads it in place of the file that env_file in the config names",
    );

/** For commands that use the running gateway of the workspace. */
export const standaloneOption: OptionGroup = (command) =>
  command.option("--standalone", "start separate servers, even if a gateway of the workspace runs");

export const waitOption: OptionGroup = (command) =>
  command.option(
    "--wait <time>",
    "wait at most this long until the servers are ready: 30 (seconds), 500ms, 2m",
  );

export const startTimeoutOption: OptionGroup = (command) =>
  command.option("--start-timeout <time>", "give up on a server that is not ready within this time");

/** For a command given on the command line; for servers of the workspace the mode, and grants for one of them. */
export const sandboxOptions: OptionGroup = (command) =>
  command
    .option(
      "--sandbox <mode>",
      "sandbox mode: enforce, warn or off for a command; <server>=<mode> for a server of the workspace (repeatable)",
      collect,
    )
    .option(
      "--allow-net <host>",
      "host that the command, or the named server, may reach: host, *.host, host:port (repeatable)",
      collect,
    )
    .option(
      "--allow-read <path>",
      "folder or file that the command, or the named server, may read (repeatable)",
      collect,
    )
    .option(
      "--allow-write <path>",
      "folder or file that the command, or the named server, may read and write (repeatable)",
      collect,
    );

/** For commands about servers of the workspace only. */
export const sandboxModeOption: OptionGroup = (command) =>
  command.option(
    "--sandbox <server>=<mode>",
    "start this server with the sandbox mode enforce, warn or off, in place of the mode in its config (repeatable)",
    collect,
  );

/** Everything that `list`, `call`, `read` and `prompt` need to reach a server. */
export const serverOptions: OptionGroup = (command) => {
  for (const addOptions of [outputOptions, workspaceOption, standaloneOption, driverCodeOption])
    addOptions(command);
  command
    .option(
      "--header <header>",
      'HTTP header to send, as "Name: value" (repeatable; only for a URL)',
      collect,
    )
    .option(
      "--env <variable>",
      "NAME=value for the server, or NAME to pass on your own variable (repeatable; only for a command)",
      collect,
    )
    .option("--cwd <dir>", "working directory of the server (only for a command)")
    .option("--root <dir>", "directory to offer the server as a root (repeatable)", collect);
  return sandboxOptions(command)
    .option("--transport <kind>", "http, sse or websocket (only for a URL)")
    .option("--era <era>", "protocol era: auto, legacy (MCP up to 2025-11-25) or modern (MCP 2026-07-28)")
    .option(
      "--timeout <time>",
      "give up on a request without a response or progress for this long: 30 (seconds), 500ms, 2m",
    )
    .option("--start-timeout <time>", "give up if the server is not ready within this time")
    .option("--max-time <time>", "give up on a request after this time, even if it reports progress")
    .option("--no-input", "never ask you for input; decline the requests of a server for your input")
    .option(
      "--strict",
      "fail if the arguments or variables of a command name a file or folder that its sandbox hides",
    );
};

/** For commands that start the servers of the workspace, and wait for them. */
export const workspaceServerOptions: readonly OptionGroup[] = [
  outputOptions,
  workspaceOption,
  sandboxModeOption,
  driverCodeOption,
  waitOption,
  startTimeoutOption,
];
