// The commands about drivers and contracts: resolve, diff, test, author, drivers.

import type { Command } from "commander";
import type { AuthorOptions } from "./commands/author.ts";
import type { ResolveOptions } from "./commands/resolve.ts";
import type { TestOptions } from "./commands/test.ts";
import {
  ACCEPT_HELP,
  AUTHOR_HELP,
  DIFF_HELP,
  DRIVERS_HELP,
  RESOLVE_HELP,
  TEST_HELP,
} from "./help-drivers.ts";
import {
  addDriverCodeOption,
  addOutputOptions,
  addWorkspaceOption,
  collect,
  type RawOptions,
} from "./options.ts";
import { addSandboxModeOption, addSandboxOptions } from "./sandbox-options.ts";
import type { Host } from "./workspace-commands.ts";

export function addDriverCommands({ program, explain, run, server }: Host): void {
  const command = (name: string, description: string, argument: string): Command =>
    addOutputOptions(program.command(name).description(description).argument(argument));
  const started = (own: Command): Command =>
    addDriverCodeOption(addSandboxModeOption(addWorkspaceOption(own))).option(
      "--start-timeout <time>",
      "give up on a server that is not ready by then",
    );

  explain(
    started(command("resolve", "show which driver would serve a contract, and why", "[contract...]"))
      .usage("<contract> [options]")
      .option("--pin <driver>", "as if the call were pinned to this driver")
      .option("--region <region>", "as if the call's data had to stay there")
      .option("--policy <policy>", "a portolan.yaml, or allow=tag,deny=tag, in place of the workspace's own")
      .option("--input <names>", "inputs that the call gives: key,key (repeatable)", collect)
      .action((words: string[], raw: RawOptions & ResolveOptions) =>
        run(raw, async (cli) => (await import("./commands/resolve.ts")).resolve(cli, words, raw)),
      ),
    RESOLVE_HELP,
  );
  explain(
    command("diff", "show which version a change of a driver or a contract needs", "[files...]")
      .usage("<old> <new> [options]")
      .action((words: string[], raw: RawOptions) =>
        run(raw, async (cli) => (await import("./commands/diff.ts")).diff(cli, words)),
      ),
    DIFF_HELP,
  );
  explain(
    started(command("test", "run the examples of contracts against a driver", "[driver...]"))
      .usage("<driver> [options]")
      .option("--allow-mutations", "run also what changes something, or needs approval")
      .option(
        "--context <pair>",
        "key=value of the calls' context, for contracts that take one (repeatable)",
        collect,
      )
      .action((words: string[], raw: RawOptions & TestOptions) =>
        run(raw, async (cli) => (await import("./commands/test.ts")).test(cli, words, raw)),
      ),
    TEST_HELP,
  );
  explain(
    addSandboxOptions(addWorkspaceOption(command("author", "make a driver of an MCP server", "[target...]")))
      .usage("<package | image | program | url> [options] [-- args...]")
      .option("--kind <kind>", "npm, docker, binary or remote, when it cannot be told")
      .option("--id <id>", "the driver's id (default: the server's name, and -mcp)")
      .option(
        "--tools <names>",
        "only these tools: a,b; a=contract serves that contract, there or new (repeatable)",
        collect,
      )
      .option("--sample", "call read-only tools once, to see what they give")
      .option("--yes", "ask nothing, and take what is proposed")
      .option("--dry-run", "print the files, and write nothing")
      .option(
        "--env <variable>",
        "NAME=value for the server, or NAME to pass on your own (repeatable)",
        collect,
      )
      .option("--header <header>", 'HTTP header to send, as "Name: value" (repeatable; URLs)', collect)
      .option("--transport <kind>", "http or sse (URLs)")
      .option("--timeout <time>", "give up on a request that is silent for this long: 30, 500ms, 2m")
      .option("--start-timeout <time>", "give up when the server is not ready by then")
      .action((words: string[], raw: RawOptions & AuthorOptions) =>
        run(raw, async (cli) => (await import("./commands/author.ts")).author(cli, { words, server }, raw)),
      ),
    AUTHOR_HELP,
  );
  const drivers = program.command("drivers").description("keep drivers as they are registered");
  explain(drivers, DRIVERS_HELP);
  explain(
    addWorkspaceOption(
      addOutputOptions(
        drivers
          .command("accept")
          .description("take a driver as it is, though its version does not tell what has changed")
          .argument("[id...]"),
      ),
    )
      .usage("<id...> [options]")
      .action((words: string[], raw: RawOptions) =>
        run(raw, async (cli) => (await import("./commands/drivers.ts")).acceptDrivers(cli, words)),
      ),
    ACCEPT_HELP,
  );
}
