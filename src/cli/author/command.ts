// `portolan author`: definition and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, outputOptions, sandboxOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { DRIVERS, exitCodes } from "../output/help.ts";
import type { AuthorOptions } from "./author.ts";

const STEPS =
  "The command starts the server once, in its sandbox, and lists its tools. Each tool that is not deprecated gets a contract. If a contract of the same name exists (verbs such as get and read count as the same) and the tool fits it, the tool gets this contract. Otherwise the command writes a new contract. If the names are only similar, the command asks you. With --yes or without a terminal, it writes a new contract. A driver that exists already keeps its tools and contracts, unless --tools names others. The command checks the new files against the server, and lists the open decisions at the end. It never changes a file that exists with other content: it writes the proposal beside the file, for example as DRIVER.md.new.";

const TOOLS = `Tools:
  --tools a,b            bind only these tools
  --tools a=note-read    the tool a serves the contract note-read; if this contract does not exist, it is created`;

const AUTHOR_TARGETS = `Targets:
  @scope/server, server@1.2.3     an npm package
  docker:image:tag, ghcr.io/a/b   a container image
  ./server, "node server.js"      a program of this machine
  https://host/mcp                a URL
  Arguments of the server go after --.`;

const GRANTS = `Sandbox:
  --allow-net, --allow-read, --allow-write grant rights to the server, and are written into DRIVER.md. --sandbox applies to this start only.`;

const SECRETS = `Secrets:
  Values of --env and --header, and passwords, tokens and connection strings among the arguments or in the URL, are used for this start only. The driver's files contain only names for them. Store the values with portolan secrets set.`;

export function addAuthorCommand({ program, explain, run, server }: CommandHost): void {
  const author = defineCommand(program, {
    name: "author",
    summary: "write a driver for an MCP server",
    argument: "[target...]",
    groups: [outputOptions, workspaceOption, sandboxOptions],
  })
    .usage("<package | image | program | url> [options] [-- args...]")
    .option(
      "--kind <kind>",
      "kind of the server, if the argument does not show it: npm, docker, binary or remote",
    )
    .option("--id <id>", "the driver's id (default: the server's name with -mcp at its end)")
    .option(
      "--tools <names>",
      "only these tools: a,b; with a=contract, the tool a serves that contract (repeatable)",
      collect,
    )
    .option("--sample", "call each read-only tool once, to see its result")
    .option(
      "--strict",
      "fail if the sandbox hides a file or folder that the server's arguments or variables name",
    )
    .option("--yes", "ask no questions, and accept the proposals")
    .option("--dry-run", "print the files, and write nothing")
    .option(
      "--env <variable>",
      "variable for the server: NAME=value, or NAME to pass on your own value (repeatable)",
      collect,
    )
    .option(
      "--header <header>",
      'HTTP header to send, as "Name: value" (repeatable; only for a URL)',
      collect,
    )
    .option("--transport <kind>", "http or sse (only for a URL)")
    .option(
      "--timeout <time>",
      "give up on a request without a response or progress for this long: 30 (seconds), 500ms, 2m",
    )
    .option("--start-timeout <time>", "give up if the server is not ready within this time")
    .action((words: string[], raw: RawOptions & AuthorOptions) =>
      run(raw, async (cli) => (await import("./author.ts")).author(cli, { words, server }, raw)),
    );
  explain(author, {
    examples: [
      "portolan author @modelcontextprotocol/server-filesystem --allow-write ./notes -- ./notes",
      'portolan author "node server.js" --id notes-mcp --tools read_note=note-read,list_notes',
      'portolan author https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN" --dry-run',
    ],
    sections: [
      DRIVERS,
      STEPS,
      TOOLS,
      AUTHOR_TARGETS,
      GRANTS,
      SECRETS,
      exitCodes({
        0: "done: the driver matches its server",
        1: "the driver does not match its server, or conflicts with the workspace",
        2: "wrong usage or input, or a config file that cannot be used",
        3: "a server cannot be reached",
      }),
    ],
  });
}
