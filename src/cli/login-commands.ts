// The commands by which somebody signs in to drivers: login, logout.

import type { Command } from "commander";
import type { LoginOptions } from "./commands/login.ts";
import { LOGIN_HELP, LOGOUT_HELP } from "./help-login.ts";
import { addDriverCodeOption, addOutputOptions, addWorkspaceOption, type RawOptions } from "./options.ts";
import { addSandboxModeOption } from "./sandbox-options.ts";
import type { Host } from "./workspace-commands.ts";

export function addLoginCommands({ program, explain, run }: Host): void {
  const command = (name: string, description: string): Command =>
    addDriverCodeOption(
      addSandboxModeOption(
        addWorkspaceOption(
          addOutputOptions(program.command(name).description(description).argument("[driver...]")),
        ),
      ),
    )
      .usage("<driver> [options]")
      .option("--user <name>", "for this caller of the gateway, in place of yourself");
  explain(
    command("login", "sign in to a driver").action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./commands/login.ts")).login(cli, words, raw)),
    ),
    LOGIN_HELP,
  );
  explain(
    command("logout", "sign out of a driver").action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./commands/login.ts")).logout(cli, words, raw)),
    ),
    LOGOUT_HELP,
  );
}
