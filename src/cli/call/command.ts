// `portolan call`, `portolan read` and `portolan prompt`: definitions and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, type OptionGroup, serverOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { OUTPUT, REQUEST_EXIT_CODES, SANDBOX, TARGETS } from "../output/help.ts";
import type { CallOptions } from "./call.ts";
import type { ResultOptions } from "./render.ts";

const COMMON_HELP = [TARGETS, SANDBOX, OUTPUT, REQUEST_EXIT_CODES];

const ARGUMENTS = `Arguments:
  key=value       converted by the tool's schema: text for a string, 5 for a number, true for a boolean
  key=a key=b     an array; or key='["a","b"]'
  a.b=1           a property of an object
  key:=json       JSON, whatever the schema says
  key=@file       the text of a file; key:=@file its JSON; key=@@x for a text that begins with @
  'tool(a: 1)'    a call as portolan list prints it, with values in place of the types
  --args '{...}'  all arguments as JSON; --args - reads them from stdin. key=value overrides them`;

const saveOptions: OptionGroup = (command) =>
  command
    .option("--out <path>", "where images, sounds and other bytes are saved: a file, or a folder")
    .option("--force", "let --out overwrite a file");

export function addCallCommands({ program, explain, run, server }: CommandHost): void {
  const call = defineCommand(program, {
    name: "call",
    summary: "call a tool",
    argument: "[words...]",
    groups: [serverOptions],
  })
    .usage(
      "<server>.<tool> [key=value...] [options]\n       portolan call <target> <tool> [key=value...] [options]\n       portolan call <tool> [key=value...] [options] -- <command> [args...]",
    )
    .option("--args <json>", "all arguments as one JSON object; - reads it from stdin")
    .option("--pin <driver>", "contracts: only this driver may serve the call")
    .option("--region <region>", "contracts: only drivers of this region may serve the call")
    .option("--context <pair>", "contracts: key=value of the call's context (repeatable)", collect)
    .action((words: string[], raw: RawOptions & CallOptions) =>
      run(raw, async (cli) => (await import("./call.ts")).call(cli, { words, server }, raw)),
    );
  explain(saveOptions(call), {
    examples: [
      'portolan call github.create_issue title="A bug" labels=ui',
      'portolan call mcp_github_create_issue title="A bug"',
      "portolan call mcpfile.yaml say text=hi",
      "portolan call tools.yaml server.say text=hi",
      'portolan call https://mcp.example.com/mcp create_issue title="A bug" labels=ui labels=urgent',
      `portolan call "npx -y some-server" 'create_issue(title: "A bug", labels: ["ui"])'`,
      "portolan call create_issue title=@title.txt -- node server.js",
      "portolan call note-read name=hello.md --pin filesystem-mcp",
      `echo '{"title": "A bug"}' | portolan call https://mcp.example.com/mcp create_issue --args -`,
    ],
    sections: [ARGUMENTS, ...COMMON_HELP],
  });

  const read = defineCommand(program, {
    name: "read",
    summary: "read a resource",
    argument: "[words...]",
    groups: [serverOptions, saveOptions],
  })
    .usage("[server | target] <uri> [options]\n       portolan read <uri> [options] -- <command> [args...]")
    .action((words: string[], raw: RawOptions & ResultOptions) =>
      run(raw, async (cli) => (await import("./read.ts")).read(cli, { words, server }, raw)),
    );
  explain(read, {
    examples: [
      "portolan read file:///notes.md",
      "portolan read files file:///notes.md",
      "portolan read mcpfile.yaml docs://index",
      "portolan read https://mcp.example.com/mcp file:///notes.md",
      'portolan read "npx -y some-server" demo://image --out image.png',
      "portolan read demo://text -- node server.js",
    ],
    sections: COMMON_HELP,
  });

  const prompt = defineCommand(program, {
    name: "prompt",
    summary: "get a prompt, filled in",
    argument: "[words...]",
    groups: [serverOptions, saveOptions],
  })
    .usage(
      "<server>.<name> [key=value...] [options]\n       portolan prompt <target> <name> [key=value...] [options]\n       portolan prompt <name> [key=value...] [options] -- <command> [args...]",
    )
    .action((words: string[], raw: RawOptions & ResultOptions) =>
      run(raw, async (cli) => (await import("./prompt.ts")).prompt(cli, { words, server }, raw)),
    );
  explain(prompt, {
    examples: [
      "portolan prompt github.review language=python",
      "portolan prompt mcpfile.yaml review language=python",
      "portolan prompt https://mcp.example.com/mcp review language=python code=@main.py",
      "portolan prompt greet name=Ann -- node server.js",
    ],
    sections: COMMON_HELP,
  });
}
