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
  --key value     the same as key=value; --flag for true, --no-flag for false. If --key is also an option of this command, it means the option
  value           the value of the next required argument
  key=a key=b     an array; or key='["a","b"]'
  a.b=1           a property of an object
  key:=json       a JSON value, not converted by the schema
  key=@file       the text of a file; key:=@file its JSON; key=@@x for a text that begins with @
  'tool(a: 1)'    a call as portolan list prints it, with values in place of the types
  '{...}'         all arguments as JSON, if each key is an argument of the tool
  --args '{...}'  all arguments as JSON; --args - reads the JSON from stdin. key=value overrides a value of the JSON`;

const ONCE: Readonly<Record<string, "allowRead" | "allowWrite" | "allowNet">> = {
  "--read": "allowRead",
  "--write": "allowWrite",
  "--net": "allowNet",
};

/** With --once, the options of `portolan grant` mean the same as --allow-read, --allow-write and --allow-net. */
export function takeGrantsOnce(
  given: readonly string[],
  { once, ...raw }: RawOptions & CallOptions,
): { readonly words: string[]; readonly grants: Pick<RawOptions, "allowRead" | "allowWrite" | "allowNet"> } {
  const words: string[] = [];
  const grants = {
    allowRead: raw.allowRead ?? [],
    allowWrite: raw.allowWrite ?? [],
    allowNet: raw.allowNet ?? [],
  };
  if (once !== true) return { words: [...given], grants: {} };
  for (let at = 0; at < given.length; at += 1) {
    const [flag = "", value] = (given[at] ?? "").split(/=(.*)/s);
    const kind = ONCE[flag];
    if (kind === undefined) words.push(given[at] ?? "");
    else grants[kind] = [...grants[kind], value ?? given[(at += 1)] ?? ""];
  }
  return { words, grants };
}

const saveOptions: OptionGroup = (command) =>
  command
    .option(
      "--out <path>",
      "save images, sounds and other binary content here, in a file or folder; text too, if call or read returns only text",
    )
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
    .allowUnknownOption()
    .option("--args <json>", "all arguments as one JSON object; --args - reads the object from stdin")
    .option(
      "--once",
      "grant the paths and hosts of --read, --write and --net for this call only; see portolan grant --help",
    )
    .option("--pin <driver>", "contracts: only this driver may serve the call")
    .option("--region <region>", "contracts: only drivers of this region may serve the call")
    .option(
      "--context <pair>",
      "contracts: a value of the call's context, as key=value (repeatable)",
      collect,
    )
    .action((given: string[], raw: RawOptions & CallOptions) => {
      const { words, grants } = takeGrantsOnce(given, raw);
      return run({ ...raw, ...grants }, async (cli) =>
        (await import("./call.ts")).call(cli, { words, server }, raw),
      );
    });
  explain(saveOptions(call), {
    examples: [
      'portolan call github.create_issue title="A bug" labels=ui',
      'portolan call create_issue --title "A bug" --labels ui',
      "portolan call files.read_text_file notes.md",
      "portolan call files.read_text_file notes.md --once --read notes.md",
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
    summary: "get a prompt with its arguments filled in",
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
