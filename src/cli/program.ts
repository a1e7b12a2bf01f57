// The command line as a whole: which commands there are, and how one is run. A command's own code is loaded when it runs.

import { Command, CommanderError, type Option } from "commander";
import { PortolanError, toPortolanError } from "../errors/index.ts";
import type { CommandWords } from "./commands/completion.ts";
import type { Cli, Words } from "./connect.ts";
import { addDriverCommands } from "./driver-commands.ts";
import { CALL_HELP, fitHelp, LIST_HELP, PROMPT_HELP, READ_HELP, ROOT_HELP } from "./help.ts";
import type { CliIo } from "./io.ts";
import { addServerOptions, collect, type RawOptions } from "./options.ts";
import { addLoginCommands } from "./login-commands.ts";
import { addMakeCommands } from "./make-commands.ts";
import { createOutput, exitCodeOf } from "./output.ts";
import { addServeCommands } from "./serve-commands.ts";
import { addSetupCommands } from "./setup-commands.ts";
import { addWorkspaceCommands, type Host } from "./workspace-commands.ts";

/** Runs one command line (without `node` and the script) and returns the exit code. Never throws. */
export async function run(argv: readonly string[], io: CliIo): Promise<number> {
  const cut = argv.indexOf("--");
  const words = cut < 0 ? argv : argv.slice(0, cut);
  const state: State = { io, server: cut < 0 ? undefined : argv.slice(cut + 1), code: 0 };
  try {
    await createProgram(state).parseAsync([...words], { from: "user" });
    return state.code;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    // Help was shown because no command was given.
    if (thrown instanceof CommanderError && thrown.code === "commander.help") return 2;
    return reportFailure(thrown instanceof CommanderError ? toUsageError(thrown) : thrown, words, io);
  }
}

/** Shows what was thrown outside of a command, in the form that the command line asks for, and returns the exit code. */
export function reportFailure(thrown: unknown, words: readonly string[], io: CliIo): number {
  const raw: RawOptions = {
    json: words.includes("--json"),
    text: words.includes("--text"),
    color: !words.includes("--no-color"),
  };
  const error = toPortolanError(thrown);
  createOutput(io, raw).error(error);
  return exitCodeOf(error);
}

interface State {
  readonly io: CliIo;
  /** The words after `--`. */
  readonly server: readonly string[] | undefined;
  code: number;
}

function createProgram(state: State): Command {
  const { io } = state;
  const outWidth = io.stdout.columns || 100;
  const errWidth = io.stderr.columns || 100;
  const explain = (command: Command, text: string): Command =>
    command.addHelpText("after", ({ error }) => fitHelp(text, error ? errWidth : outWidth));
  const program = new Command("portolan")
    .description("Use any MCP server from the command line.")
    .version(io.version, "-V, --version")
    .usage("<command> [options]")
    .exitOverride()
    .configureHelp({ subcommandTerm: (command) => command.name(), minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => outWidth,
      getErrHelpWidth: () => errWidth,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  explain(program, ROOT_HELP);

  const list = serverCommand(
    program,
    state,
    "list",
    "show the tools of the workspace, or all that one server has",
    "[target...]",
    async (cli, words, options) => {
      const { list } = await import("./commands/list.ts");
      return list(cli, words, options);
    },
  )
    .usage("[server | target] [options]\n       portolan list [options] -- <command> [args...]")
    .option("--wait <time>", "how long to wait for the servers of the workspace: 30, 500ms, 2m")
    .option("--all", "every parameter and every line of text")
    .option("--schema", "the tools' JSON Schemas in full");
  explain(list, LIST_HELP);

  const call = withOut(
    serverCommand(program, state, "call", "call a tool", "[words...]", async (cli, words, options) => {
      const { call } = await import("./commands/call.ts");
      return call(cli, words, options);
    })
      .usage(
        "<server>.<tool> [key=value...] [options]\n       portolan call <target> <tool> [key=value...] [options]\n       portolan call <tool> [key=value...] [options] -- <command> [args...]",
      )
      .option("--args <json>", "all arguments as one JSON object; - reads it from stdin")
      .option("--pin <driver>", "of a contract: only this driver may serve the call")
      .option("--region <region>", "of a contract: only drivers of this region may serve the call")
      .option("--context <pair>", "of a contract: key=value of the call's context (repeatable)", collect),
  );
  explain(call, CALL_HELP);

  const read = withOut(
    serverCommand(program, state, "read", "read a resource", "[words...]", async (cli, words, options) => {
      const { read } = await import("./commands/read.ts");
      return read(cli, words, options);
    }).usage(
      "[server | target] <uri> [options]\n       portolan read <uri> [options] -- <command> [args...]",
    ),
  );
  explain(read, READ_HELP);

  const prompt = withOut(
    serverCommand(
      program,
      state,
      "prompt",
      "get a prompt, filled in",
      "[words...]",
      async (cli, words, options) => {
        const { prompt } = await import("./commands/prompt.ts");
        return prompt(cli, words, options);
      },
    ).usage(
      "<server>.<name> [key=value...] [options]\n       portolan prompt <target> <name> [key=value...] [options]\n       portolan prompt <name> [key=value...] [options] -- <command> [args...]",
    ),
  );
  explain(prompt, PROMPT_HELP);

  addSetupCommands(program, state, explain);

  const host: Host = {
    program,
    explain,
    server: state.server,
    run: async (raw, work, frame) => {
      const { runCommand } = await import("./run-command.ts");
      state.code = await runCommand(io, raw, work, frame);
    },
  };
  addServeCommands(host);
  addWorkspaceCommands(host);
  addMakeCommands(host);
  addDriverCommands(host);
  addLoginCommands(host);

  program
    .command("completion")
    .description("print a completion script for a shell: bash, zsh or fish")
    .argument("[shell]")
    .action(async (shell: string | undefined) => {
      const { completion } = await import("./commands/completion.ts");
      io.stdout.write(completion(shell, wordsOf(program)));
    });
  return program;
}

type Run = (cli: Cli, words: Words, options: Record<string, never>) => Promise<number>;

function serverCommand(
  program: Command,
  state: State,
  name: string,
  description: string,
  argument: string,
  run: Run,
): Command {
  const command = program.command(name).description(description).argument(argument);
  return addServerOptions(command).action(
    async (given: string | string[] | undefined, options: RawOptions) => {
      const words = given === undefined ? [] : [given].flat();
      const { runCommand } = await import("./run-command.ts");
      state.code = await runCommand(state.io, options, (cli) => {
        if (state.server !== undefined && argument === "[target...]" && words.length > 0) {
          throw new PortolanError("USAGE", "A target is given both before and after --.", {
            hint: "Leave out one of them.",
          });
        }
        return run(cli, { words, server: state.server }, options as Record<string, never>);
      });
    },
  );
}

function withOut(command: Command): Command {
  return command
    .option("--out <path>", "where images, sounds and other bytes are saved: a file, or a folder")
    .option("--force", "let --out overwrite a file");
}

function wordsOf(program: Command): CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    commands: command.commands.map((own) => own.name()),
    options: optionsOf(command).map((option) => ({
      flag: option.long ?? option.flags,
      description: option.description,
      takesValue: option.required,
    })),
  }));
}

/** Its own options, and once each those of its sub-commands. */
function optionsOf(command: Command): readonly Option[] {
  const all = [command, ...command.commands].flatMap(({ options }) => options);
  return [...new Map(all.map((option) => [option.flags, option])).values()];
}

/** Commander's message, with its "did you mean" as the hint. */
function toUsageError(error: CommanderError): PortolanError {
  // What follows a = may be a secret, also when the option before it is not known.
  const [text = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = text.replace(/^(unknown option '[^=']*)=.*$/, "$1'");
  const forServer =
    error.code === "commander.unknownOption"
      ? "Run the command with --help. Options of a server's own command stand inside its quotes, or after --."
      : undefined;
  return new PortolanError("USAGE", message, { hint: suggestion?.replace(/^\(|\)$/g, "") ?? forServer });
}
