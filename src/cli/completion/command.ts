// `portolan completion`: definition, and the words of all commands for the scripts.

import type { Command, Option } from "commander";
import type { CommandHost } from "../context.ts";
import { defineCommand } from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { CommandWords } from "./scripts.ts";

export function addCompletionCommand({ program, explain, run }: CommandHost): void {
  const completion = defineCommand(program, {
    name: "completion",
    summary: "print a completion script for a shell: bash, zsh or fish",
    argument: "[shell]",
  }).action((shell: string | undefined) =>
    run({}, async ({ io }) => {
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
    sections: [exitCodes({ 0: "done", 2: "wrong usage" })],
  });
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
