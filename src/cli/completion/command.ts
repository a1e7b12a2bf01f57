// `portolan completion`: definition, and the words of all commands for the scripts.

import type { Command, Option } from "commander";
import type { CliIo, CommandHost } from "../context.ts";
import { defineCommand } from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { CommandWords } from "./scripts.ts";

export function addCompletionCommand({ program, explain, run, server = [] }: CommandHost): void {
  const completion = defineCommand(program, {
    name: "completion",
    summary: "print a completion script for a shell: bash, zsh or fish",
    argument: "[shell]",
  }).action((shell: string | undefined) =>
    run({}, async ({ io }) => {
      if (shell === "words") return printWords(io, server);
      const { completionScript } = await import("./scripts.ts");
      io.stdout.write(completionScript(shell, program.commands.map(wordsOf)));
      return 0;
    }),
  );
  explain(completion, {
    examples: [
      "source <(portolan completion bash)",
      "source <(portolan completion zsh)",
      "portolan completion fish > ~/.config/fish/completions/portolan.fish",
    ],
    sections: [
      "The scripts complete commands, options, clients, servers, tools, arguments and their values. They read config files, and the tool lists that Portolan stored when the servers last ran. For approve, they ask the running gateways for the waiting calls. They start no server.",
      exitCodes({ 0: "done", 2: "wrong usage" }),
    ],
  });
}

/** For the scripts: the words after `--`, or a whole line after `--line`; one candidate on each line. */
async function printWords(io: CliIo, given: readonly string[]): Promise<number> {
  const { candidates, splitLine } = await import("./candidates.ts");
  const [first, line = ""] = given;
  const words = first === "--line" ? splitLine(line).slice(1) : given;
  for (const word of await candidates(words, io)) io.stdout.write(`${word}\n`);
  return 0;
}

function wordsOf(command: Command): CommandWords {
  return {
    name: command.name(),
    description: command.description(),
    commands: command.commands.map((own) => own.name()),
    options: optionsOf(command).map((option) => ({
      flag: option.long ?? option.flags,
      description: option.description,
      takesValue: option.required,
    })),
  };
}

/** The options of the command and of its subcommands, each once. */
function optionsOf(command: Command): readonly Option[] {
  const all = [command, ...command.commands].flatMap(({ options }) => options);
  return [...new Map(all.map((option) => [option.flags, option])).values()];
}
