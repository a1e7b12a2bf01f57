// The names in the list of commands, by which a command line finds the definition of its command.

import { Command } from "commander";
import { expect, test } from "vitest";
import { COMMANDS } from "./program.ts";

test("each entry of COMMANDS has the names of the commands that it defines", async () => {
  const defined: string[] = [];
  for (const [, load] of COMMANDS) {
    const program = new Command();
    const add = await load();
    add({ program, server: undefined, explain: (command) => command, run: async () => {} });
    defined.push(program.commands.map((command) => command.name()).join(" "));
  }
  // All commands are defined for `completion`, which prints their words.
  expect(defined.at(-1)).toBe("completion");
  expect(COMMANDS.map(([names]) => names)).toEqual([...defined.slice(0, -1), ""]);
});
