// `portolan login`, `portolan logout` and `portolan accounts`: definitions and help.

import type { CommandHost } from "../context.ts";
import {
  type CommandDefinition,
  defineCommand,
  driverCodeOption,
  outputOptions,
  sandboxModeOption,
  workspaceOption,
} from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { exitCodes } from "../output/help.ts";
import type { LoginOptions } from "./login.ts";

const COMMON: Pick<CommandDefinition, "argument" | "groups"> = {
  argument: "[server or driver...]",
  groups: [outputOptions, workspaceOption, sandboxModeOption, driverCodeOption],
};

const EXIT_CODES = exitCodes({
  0: "done",
  2: "wrong usage, or a config file that cannot be used",
  5: "the login failed, or needs a terminal or a browser that is missing here",
});

export function addLoginCommands({ program, explain, run }: CommandHost): void {
  const login = defineCommand(program, {
    name: "login",
    summary: "log in to a server or a driver",
    ...COMMON,
  })
    .usage("<server, URL or driver> [options]")
    .option("--user <name>", "log in this caller of the gateway, not yourself")
    .option("--account <name>", "one of several accounts at the server")
    .option("--no-browser", "log in on another machine: enter a code there, or paste its answer")
    .action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./login.ts")).login(cli, words, raw)),
    );
  explain(login, {
    examples: [
      "portolan login linear",
      "portolan login linear --account work --no-browser",
      "portolan login github-mcp --user agent",
    ],
    sections: [
      "A server behind OAuth: the login page opens in the browser, and its answer comes back to this machine. With --no-browser the command prints an address and a code to enter there, from any machine. Where the authorization server offers no codes, it prints the address of the login page, and you paste the address that the browser shows after the login. Tokens are kept encrypted, and refreshed by every command and gateway of yours.",
      "The auth.login section of a DRIVER.md defines the login: a command, which runs in the driver's sandbox, or a web page, which opens in the browser. A command that asks for input needs a terminal. Portolan stores only that you are logged in, never a password or token; those stay where the command or the page puts them.",
      "A running gateway notices the login by itself. --user is for a caller of the gateway; each caller has a home folder of its own for the files of the login command.",
      EXIT_CODES,
    ],
  });

  const logout = defineCommand(program, {
    name: "logout",
    summary: "log out of a server or a driver",
    ...COMMON,
  })
    .usage("<server, URL or driver> [options]")
    .option("--user <name>", "log out this caller of the gateway, not yourself")
    .option("--account <name>", "one of several accounts at the server")
    .action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./login.ts")).logout(cli, words, raw)),
    );
  explain(logout, {
    examples: ["portolan logout github-mcp", "portolan logout github-mcp --user agent"],
    sections: [
      "The tokens of a server are removed, and revoked where its authorization server supports that.",
      "Calls that need the driver are refused until the next login. Files that its own programs keep are listed, and not deleted.",
      EXIT_CODES,
    ],
  });

  const accounts = defineCommand(program, {
    name: "accounts",
    summary: "show who is logged in to which server",
    groups: [outputOptions],
  }).action((raw: RawOptions) => run(raw, async (cli) => (await import("./accounts.ts")).showAccounts(cli)));
  explain(accounts, {
    examples: ["portolan accounts", "portolan accounts --json"],
    sections: [
      "Lists the logins at servers behind OAuth, and where they are kept. Drivers keep their own logins.",
      EXIT_CODES,
    ],
  });
}
