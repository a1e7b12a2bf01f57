// The `portolan` program: its commands, and how one command line is run. A command's own code is loaded when it runs.

import { Command, CommanderError, Help } from "commander";
import { PortolanError, toPortolanError } from "../errors/index.ts";
import type { CliIo, CommandHost } from "./context.ts";
import type { RawOptions } from "./options/parse.ts";
import { commandGroups } from "./output/command-groups.ts";
import { fitHelp } from "./output/help.ts";
import { createOutput, exitCodeOf } from "./output/output.ts";

/**
 * Every command, with the names that a command line may begin with: for one of these, only its
 * entry is loaded and defined, because the options of all commands take longer to define than many commands take to run.
 * `completion` prints the words of all commands, and so has no name here.
 */
export const COMMANDS: readonly (readonly [names: string, load: () => Promise<AddCommands>])[] = [
  ["list", async () => (await import("./list/command.ts")).addListCommand],
  ["call read prompt", async () => (await import("./call/command.ts")).addCallCommands],
  ["run", async () => (await import("./run/command.ts")).addRunCommand],
  ["serve token", async () => (await import("./serve/command.ts")).addServeCommands],
  [
    "approve restart logs reload console stop",
    async () => (await import("./control/command.ts")).addControlCommands,
  ],
  ["service", async () => (await import("./service/command.ts")).addServiceCommands],
  ["status events", async () => (await import("./status/command.ts")).addStatusCommands],
  ["tokens", async () => (await import("./tokens/command.ts")).addTokensCommand],
  ["why", async () => (await import("./why/command.ts")).addWhyCommand],
  ["doctor", async () => (await import("./doctor/command.ts")).addDoctorCommand],
  ["add remove", async () => (await import("./edit/command.ts")).addEditCommands],
  ["grant revoke", async () => (await import("./grants/command.ts")).addGrantCommands],
  ["update", async () => (await import("./packages/command.ts")).addPackageCommands],
  ["audit", async () => (await import("./audit/command.ts")).addAuditCommand],
  ["install", async () => (await import("./install/command.ts")).addInstallCommand],
  ["pin pins", async () => (await import("./pins/command.ts")).addPinCommands],
  ["validate", async () => (await import("./validate/command.ts")).addValidateCommand],
  ["connect disconnect", async () => (await import("./connect/command.ts")).addConnectCommands],
  ["import", async () => (await import("./import/command.ts")).addImportCommand],
  ["export", async () => (await import("./export/command.ts")).addExportCommand],
  ["secrets", async () => (await import("./secrets/command.ts")).addSecretsCommands],
  ["login logout accounts", async () => (await import("./login/command.ts")).addLoginCommands],
  ["init convert", async () => (await import("./convert/command.ts")).addConvertCommands],
  ["resolve diff test drivers", async () => (await import("./drivers/command.ts")).addDriverCommands],
  ["author", async () => (await import("./author/command.ts")).addAuthorCommand],
  ["pack", async () => (await import("./pack/command.ts")).addPackCommand],
  [
    "search info versions advisories publish deprecate unpublish star registry",
    async () => (await import("./registry/command.ts")).addRegistryCommands,
  ],
  ["", async () => (await import("./completion/command.ts")).addCompletionCommand],
];

type AddCommands = (host: CommandHost) => void;

/** Runs one command line (without `node` and the script) and returns the exit code. Never throws. */
export async function run(argv: readonly string[], io: CliIo): Promise<number> {
  const cut = argv.indexOf("--");
  const words = cut < 0 ? argv : argv.slice(0, cut);
  const state: State = { io, server: cut < 0 ? undefined : argv.slice(cut + 1), code: 0 };
  try {
    const program = await createProgram(state, words[0]);
    await program.parseAsync([...words], { from: "user" });
    return state.code;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    // Without a command, commander shows the help and throws this.
    if (thrown instanceof CommanderError && thrown.code === "commander.help") return 2;
    return reportFailure(thrown instanceof CommanderError ? toUsageError(thrown, words) : thrown, words, io);
  }
}

/** Shows an error from outside of a command, in the form that the command line requests, and returns the exit code. */
export function reportFailure(thrown: unknown, words: readonly string[], io: CliIo): number {
  const raw: RawOptions = {
    json: words.includes("--json") || wantsJsonLog(words),
    text: words.includes("--text"),
    color: !words.includes("--no-color"),
  };
  const error = toPortolanError(thrown);
  createOutput(io, raw).error(error);
  return exitCodeOf(error);
}

/** True for `serve --log-format json`, whose log may be the stderr of this process. */
function wantsJsonLog(words: readonly string[]): boolean {
  return (
    words.includes("--log-format=json") ||
    words.some((word, index) => word === "json" && words[index - 1] === "--log-format")
  );
}

interface State {
  readonly io: CliIo;
  /** The words after `--`. */
  readonly server: readonly string[] | undefined;
  code: number;
}

async function createProgram(state: State, first: string | undefined): Promise<Command> {
  const { io } = state;
  const outWidth = io.stdout.columns || 100;
  const errWidth = io.stderr.columns || 100;
  const examples = new WeakMap<Command, readonly string[]>();
  const program = new Command("portolan")
    .description("Use any MCP server from the command line.")
    .version(io.version, "-V, --version")
    .usage("<command> [options]")
    .exitOverride()
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      minWidthToWrap: 20,
      formatHelp: (command, helper) =>
        withExamples(
          Help.prototype.formatHelp.call(
            helper,
            command,
            command.parent === null ? withoutList(helper) : helper,
          ),
          examples.get(command),
        ),
    })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => outWidth,
      getErrHelpWidth: () => errWidth,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const host: CommandHost = {
    program,
    server: state.server,
    explain: (command, help) => {
      examples.set(command, help.examples);
      const text = (help.sections ?? []).map((section) => `\n${section}`).join("\n");
      return command.addHelpText("after", ({ error }) => fitHelp(text, error ? errWidth : outWidth));
    },
    run: async (raw, work, options) => {
      const { runCommand } = await import("./run-command.ts");
      state.code = await runCommand(io, raw, work, options);
    },
  };
  host.explain(program, {
    examples: [
      'portolan list "npx -y @modelcontextprotocol/server-everything"',
      "portolan add files -- npx -y @modelcontextprotocol/server-filesystem .",
      "portolan call files.list_directory path=.",
      "portolan connect cursor claude-code --import",
    ],
    sections: [
      ...commandGroups(),
      `Run portolan <command> --help for the options of a command.
If stdout is not a terminal, most commands print JSON; --text prints text there.`,
    ],
  });
  // The version needs no command.
  if (first === "--version" || first === "-V") return program;
  const named = COMMANDS.filter(([names]) => first !== undefined && names.split(" ").includes(first));
  const loaded = await Promise.all((named.length > 0 ? named : COMMANDS).map(([, load]) => load()));
  for (const addCommands of loaded) addCommands(host);
  return program;
}

/** The list of all commands is in groups of its own. */
function withoutList(helper: Help): Help {
  return Object.assign(Object.create(helper) as Help, { visibleCommands: () => [] });
}

/** Puts the examples between the description and the options. */
function withExamples(text: string, examples: readonly string[] = []): string {
  if (examples.length === 0) return text;
  const lines = ["Examples:", ...examples.map((line) => `  ${line}`)].join("\n");
  return text.replace(/^(?=Options:$)/m, () => `${lines}\n\n`);
}

/** Commander's message, with its "did you mean" as the hint. */
function toUsageError(error: CommanderError, [first = "", second]: readonly string[]): PortolanError {
  const [text = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  // The text after = may be a secret, even when the option before it is unknown.
  const message = text.replace(/^(unknown option '[^=']*)=.*$/, "$1'");
  const forServer =
    error.code === "commander.unknownOption"
      ? "To see the options of a command: portolan <command> --help. If the option belongs to a command that starts a server, write it inside the quotes of that command, or write that command after --."
      : undefined;
  if (first === "secrets" && message === `unknown command '${second}'` && SHOWING.has(second ?? ""))
    return new PortolanError("USAGE", message, {
      hint: "No command shows the value of a secret. To see the names: portolan secrets list. To see whether each secret has a value: portolan secrets check",
    });
  // Commander prefers a name with fewer other letters to the name that was not typed to its end.
  const begun = message === `unknown command '${first}'` ? commandsWith(first) : [];
  const near = begun.length > 0 ? `Did you mean ${begun.join(" or ")}?` : suggestion?.replace(/^\(|\)$/g, "");
  return new PortolanError("USAGE", message, { hint: near ?? forServer });
}

/** Words for a command that would show a secret. */
const SHOWING: ReadonlySet<string> = new Set(["get", "show", "read", "print", "cat", "reveal", "export"]);

const MAX_BEGUN = 3;

/** The commands that begin with these letters. */
function commandsWith(start: string): string[] {
  const names = COMMANDS.flatMap(([names]) => names.split(" ")).filter((name) => name.startsWith(start));
  return names.slice(0, MAX_BEGUN);
}
