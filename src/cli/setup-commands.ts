// The commands about this computer, and declarations and secrets on it: doctor, import, export, secrets.

import type { Command } from "commander";
import type { SecretsOptions } from "./commands/secrets.ts";
import type { Cli } from "./connect.ts";
import type { CliIo } from "./io.ts";
import { addOutputOptions, addWorkspaceOption, type RawOptions } from "./options.ts";
import {
  CHECK_HELP,
  DOCTOR_HELP,
  EXPORT_HELP,
  IMPORT_HELP,
  RM_HELP,
  SECRETS_HELP,
  SECRETS_LIST_HELP,
  SET_HELP,
} from "./setup-help.ts";

export interface CommandFrame {
  readonly io: CliIo;
  /** The words after `--`. */
  readonly server: readonly string[] | undefined;
  code: number;
}

type Explain = (command: Command, text: string) => Command;
type Work = (cli: Cli, words: readonly string[], options: never) => Promise<number>;

export function addSetupCommands(program: Command, frame: CommandFrame, explain: Explain): void {
  const add = (parent: Command, name: string, description: string, argument: string, work: Work): Command =>
    addWorkspaceOption(
      addOutputOptions(parent.command(name).description(description).argument(argument)),
    ).action(async (words: readonly string[], options: RawOptions) => {
      const { runCommand } = await import("./run-command.ts");
      // Here `--` only ends the options.
      const all = [...words, ...(frame.server ?? [])];
      frame.code = await runCommand(frame.io, options, (cli) => work(cli, all, options as never));
    });

  explain(
    addOutputOptions(
      program.command("doctor").description("show what of the sandbox this machine can enforce, and try it"),
    ).action(async (options: RawOptions) => {
      const { runCommand } = await import("./run-command.ts");
      frame.code = await runCommand(frame.io, options, async (cli) =>
        (await import("./commands/doctor.ts")).doctor(cli),
      );
    }),
    DOCTOR_HELP,
  );

  const imports = add(
    program,
    "import",
    "show the servers that other MCP clients on this computer have, or copy them here",
    "[client...]",
    async (cli, words, options) => (await import("./commands/import.ts")).importServers(cli, words, options),
  ).option("--write", "add them to the workspace's portolan.yaml");
  explain(imports, IMPORT_HELP);

  const exports = add(
    program,
    "export",
    "print the workspace's servers for another MCP client, or write them into its file",
    "[alias...]",
    async (cli, words, options) => (await import("./commands/export.ts")).exportServers(cli, words, options),
  )
    .usage("--for <client> [alias...] [options]")
    .option("--for <client>", "the client, for example cursor")
    .option("--write [file]", "merge them into the client's usual file, or into this one")
    .option("--scope <scope>", "with --write: the usual file of the user, or of the project");
  explain(exports, EXPORT_HELP);

  const secrets = program
    .command("secrets")
    .description("keep the values that declarations refer to by name");
  explain(secrets, SECRETS_HELP);
  type Name = "setSecret" | "listSecrets" | "removeSecret" | "checkSecrets";
  const secret = (name: string, description: string, argument: string, work: Name, help: string): Command =>
    explain(
      add(secrets, name, description, argument, async (cli, words, options: SecretsOptions) =>
        (await import("./commands/secrets.ts"))[work](cli, words, options),
      ),
      help,
    );
  // What is no option may be a value in the wrong place: the command refuses it without repeating it.
  secret("set", "set a secret; its value is asked for or piped in", "[NAME...]", "setSecret", SET_HELP)
    .usage("<NAME> [options]")
    .option("--to <place>", "keyring or vault")
    .allowUnknownOption();
  secret("list", "show names and where they are kept", "[words...]", "listSecrets", SECRETS_LIST_HELP).usage(
    "[options]",
  );
  secret("rm", "remove a secret", "[NAME...]", "removeSecret", RM_HELP).usage("<NAME> [options]");
  secret(
    "check",
    "show what works, and what the servers need",
    "[words...]",
    "checkSecrets",
    CHECK_HELP,
  ).usage("[options]");
}
