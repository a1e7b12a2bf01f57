// `portolan login` and `portolan logout`: definitions and help.

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
  argument: "[driver...]",
  groups: [outputOptions, workspaceOption, sandboxModeOption, driverCodeOption],
};

const EXIT_CODES = exitCodes({
  0: "done",
  2: "wrong usage, or a config file that cannot be used",
  5: "the login failed, or needs a terminal or a browser that is missing here",
});

export function addLoginCommands({ program, explain, run }: CommandHost): void {
  const login = defineCommand(program, { name: "login", summary: "sign in to a driver", ...COMMON })
    .usage("<driver> [options]")
    .option("--user <name>", "sign in this caller of the gateway, not yourself")
    .action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./login.ts")).login(cli, words, raw)),
    );
  explain(login, {
    examples: ["portolan login github-mcp", "portolan login github-mcp --user agent"],
    sections: [
      "The auth.login section of a DRIVER.md defines the login: a command, which runs in the driver's sandbox, or a web page, which opens in the browser. A command that asks for input needs a terminal. Portolan stores only that you are logged in, never a password or token; those stay where the command or the page puts them.",
      "A running gateway notices the login by itself. --user is for a caller of the gateway; each caller has a home folder of its own for the files of the login command.",
      EXIT_CODES,
    ],
  });

  const logout = defineCommand(program, { name: "logout", summary: "sign out of a driver", ...COMMON })
    .usage("<driver> [options]")
    .option("--user <name>", "sign out this caller of the gateway, not yourself")
    .action((words: string[], raw: RawOptions & LoginOptions) =>
      run(raw, async (cli) => (await import("./login.ts")).logout(cli, words, raw)),
    );
  explain(logout, {
    examples: ["portolan logout github-mcp", "portolan logout github-mcp --user agent"],
    sections: [
      "Calls that need the driver are refused until the next login. Files that its own programs keep are listed, and not deleted.",
      EXIT_CODES,
    ],
  });
}
