// The commands about the workspace as a whole: how it is doing, what is in its declarations.

import type { Command } from "commander";
import type { Cli, Words } from "./connect.ts";
import {
  ADD_HELP,
  EVENTS_HELP,
  INSTALL_HELP,
  REMOVE_HELP,
  STATUS_HELP,
  VALIDATE_HELP,
  WHY_HELP,
} from "./help-workspace.ts";
import {
  addDriverCodeOption,
  addOutputOptions,
  addWorkspaceOption,
  collect,
  type RawOptions,
} from "./options.ts";
import type { Frame } from "./run-command.ts";
import { addSandboxModeOption, addSandboxOptions } from "./sandbox-options.ts";

/** How the program runs a command and explains it. */
export interface Host {
  readonly program: Command;
  readonly explain: (command: Command, text: string) => Command;
  readonly run: (raw: RawOptions, work: (cli: Cli) => Promise<number>, frame?: Frame) => Promise<void>;
  /** The words after `--`. */
  readonly server: Words["server"];
}

export function addWorkspaceCommands(host: Host): void {
  const { program, explain } = host;
  const command = (name: string, description: string, argument: string): Command =>
    addWorkspaceOption(addOutputOptions(program.command(name).description(description).argument(argument)));
  const patient = (own: Command): Command =>
    addDriverCodeOption(addSandboxModeOption(own))
      .option("--wait <time>", "how long to wait for servers: 30, 500ms, 2m")
      .option("--start-timeout <time>", "give up on a server that is not ready by then");

  explain(
    patient(command("status", "show how the servers of the workspace are doing", "[servers...]"))
      .option("--timeout <time>", "the same as --wait")
      .action((servers: string[], raw: RawOptions) =>
        host.run(raw, async (cli) => (await import("./commands/status.ts")).status(cli, servers)),
      ),
    STATUS_HELP,
  );
  explain(
    addDriverCodeOption(
      addSandboxOptions(
        command("why", "show all there is to know about one server or driver, and what to do", "[server...]"),
      ),
    )
      .usage("<server | driver> [options]\n       portolan why --plan [options] -- <command> [args...]")
      .option("--plan", "show how it would be started and what it may touch, and start nothing")
      .option("--root <dir>", "directory that is granted to it as a root (repeatable; with --plan)", collect)
      .option("--wait <time>", "how long to wait for servers: 30, 500ms, 2m")
      .option("--start-timeout <time>", "give up on a server that is not ready by then")
      .action((words: string[], raw: RawOptions & { plan?: boolean }) =>
        host.run(raw, async (cli) => {
          const { server } = host;
          if (raw.plan === true) return (await import("./commands/plan.ts")).plan(cli, { words, server });
          return (await import("./commands/why.ts")).why(cli, { words, server });
        }),
      ),
    WHY_HELP,
  );
  explain(
    patient(command("events", "show what happens to the servers", "[servers...]"))
      .option("-f, --follow", "go on until interrupted, and follow changes of the declarations")
      .action((servers: string[], raw: RawOptions & { follow?: boolean }) =>
        host.run(raw, async (cli) => (await import("./commands/events.ts")).events(cli, servers, raw)),
      ),
    EVENTS_HELP,
  );
  explain(
    addSandboxOptions(command("add", "add a server to the workspace's portolan.yaml", "[words...]"))
      .usage("<name> [options] -- <command> [args...]\n       portolan add <name> <url> [options]")
      .option(
        "--env <variable>",
        "NAME=value for the server, or NAME for ${NAME} (repeatable; commands)",
        collect,
      )
      .option("--header <header>", 'HTTP header to send, as "Name: value" (repeatable; URLs)', collect)
      .option("--transport <kind>", "http, sse or websocket (URLs)")
      .option("--era <era>", "protocol era: auto, legacy or modern")
      .option("--cwd <dir>", "working directory of the server (commands)")
      .option("--start <when>", "eager: with the workspace; lazy: with the first call")
      .option("--dry-run", "print the file as it would be, and write nothing")
      .action((words: string[], raw: RawOptions & { start?: string; dryRun?: boolean }) => {
        const { env: _env, header: _header, transport: _transport, era: _era, cwd: _cwd, ...rest } = raw;
        return host.run(rest, async (cli) =>
          (await import("./commands/add.ts")).add(cli, { words, server: host.server }, raw),
        );
      }),
    ADD_HELP,
  );
  explain(
    command(
      "install",
      "fetch what the servers need, without starting them, and mend what is broken",
      "[servers...]",
    )
      .usage("[server...] [options]\n       portolan install [options] -- <command> [args...]")
      .option("--update", "resolve ranges and tags of packages anew, also where one is there")
      .action((words: string[], raw: RawOptions & { update?: boolean }) =>
        host.run(raw, async (cli) =>
          (await import("./commands/install.ts")).installServers(cli, { words, server: host.server }, raw),
        ),
      ),
    INSTALL_HELP,
  );
  explain(
    command("remove", "remove a server from the workspace's portolan.yaml", "[name...]")
      .usage("<name> [options]")
      .option("--dry-run", "print the file as it would be, and write nothing")
      .action((names: string[], raw: RawOptions & { dryRun?: boolean }) =>
        host.run(raw, async (cli) => (await import("./commands/remove.ts")).remove(cli, names, raw)),
      ),
    REMOVE_HELP,
  );
  explain(
    command("validate", "check declarations of any format", "[paths...]").action(
      (paths: string[], raw: RawOptions) =>
        host.run(raw, async (cli) => (await import("./commands/validate.ts")).validate(cli, paths)),
    ),
    VALIDATE_HELP,
  );
}
