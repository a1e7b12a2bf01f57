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
    .option("--user <name>", "log in for this caller of the gateway, not for yourself")
    .option("--account <name>", "the account to log in with, if you have several at the server")
    .option(
      "--no-browser",
      "log in with a browser on another machine: enter a code in that browser, or paste its final address here",
    )
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
      "For a server behind OAuth, the login page opens in your browser. After the login, the browser sends the result to this command. With --no-browser, the command prints an address and a code: open the address on any machine, and enter the code. If the authorization server does not support device codes, the command prints the address of the login page. You then paste the address that the browser shows after the login into this terminal. Portolan stores the tokens encrypted, and refreshes them when a command or a gateway uses them.",
      "For a driver, the auth.login section of its DRIVER.md defines the login: a command, which runs in the driver's sandbox, or a web page, which opens in the browser. A command that asks for input needs a terminal. Portolan stores only that you are logged in, never the password or token; the login command or page stores these itself.",
      "A running gateway uses the login without a restart. With --user, you log in for a caller of the gateway; each caller has a home folder of its own for the files of the login command.",
      EXIT_CODES,
    ],
  });

  const logout = defineCommand(program, {
    name: "logout",
    summary: "log out of a server or a driver",
    ...COMMON,
  })
    .usage("<server, URL or driver> [options]")
    .option("--user <name>", "log out for this caller of the gateway, not for yourself")
    .option("--account <name>", "the account to log out of, if you have several at the server")
    .action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./login.ts")).logout(cli, words, raw)),
    );
  explain(logout, {
    examples: ["portolan logout github-mcp", "portolan logout github-mcp --user agent"],
    sections: [
      "For a server, Portolan removes the stored tokens, and revokes them if the authorization server supports revocation.",
      "For a driver, Portolan refuses calls that need the login until the next login. Without --user, the command lists the files under auth.state.paths of the DRIVER.md that still exist. Portolan does not delete these files.",
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
      "Lists the logins at servers behind OAuth, and where they are stored. portolan status shows the logins of drivers.",
      EXIT_CODES,
    ],
  });
}
