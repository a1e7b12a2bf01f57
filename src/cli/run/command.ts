// `portolan run`: definition and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, sandboxOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { REQUEST_EXIT_CODES, WORKSPACE } from "../output/help.ts";
import type { RunScriptOptions } from "./run.ts";

const SCRIPT = `Script:
  @import mcp x from @user/pkg     a server of the workspace, by the name of its package
  @mcp:config x { key: "{{K}}" }   its settings; secret K comes from the environment or the secret store
  @mcp v = x.tool({ a: "b" })      a call
  Text with {{v.field}}            a line of text is printed
  The page docs/reference/script.md in Portolan's repository has the grammar.`;

const OUTPUT = `Output:
  The text of the script goes to stdout. With --json: {"outputs": [...], "variables": {...}} at the end. Errors go to stderr, with line and column.`;

const SANDBOX = `Sandbox:
  A server of the workspace runs in the sandbox of its config. A command that the script itself names runs in the default sandbox, without network; --allow-net, --allow-read and --allow-write grant more to all such commands.`;

export function addRunCommand({ program, explain, run }: CommandHost): void {
  const command = defineCommand(program, {
    name: "run",
    summary: "run an mlld script that calls tools",
    argument: "<script>",
    groups: [workspaceOption, sandboxOptions],
  })
    .option(
      "--var <pair>",
      "set a variable to a text: name=value; to another JSON value: name:=json (repeatable)",
      collect,
    )
    .option("--dry-run", "show the servers, tools and secrets that the script uses; nothing is started")
    .option(
      "--timeout <time>",
      "give up on a request without a response or progress for this long: 30 (seconds), 500ms, 2m",
    )
    .option("--start-timeout <time>", "give up if a server is not ready within this time")
    .option("--max-time <time>", "give up on a request after this time, even if it reports progress")
    .option("--no-input", "never ask for input; a missing secret is an error")
    .option("--json", "print variables and outputs as JSON, in place of text")
    .option("--text", "print text (the default)")
    .option("--quiet", "no progress, notes or warnings")
    .option("--verbose", "show diagnostics, the servers' log messages, and causes of errors")
    .option("--no-color", "no colour (also: NO_COLOR, FORCE_COLOR)")
    .action((script: string, raw: RawOptions & RunScriptOptions) =>
      run({ ...raw, text: raw.text === true || raw.json !== true }, async (cli) =>
        (await import("./run.ts")).runScriptFile(cli, script, raw),
      ),
    );
  explain(command, {
    examples: [
      "portolan run report.mld",
      "portolan run report.mld --var repo=mlld-lang/mlld",
      "portolan run report.mld --dry-run",
      "portolan run report.mld --json | jq .variables",
    ],
    sections: [SCRIPT, WORKSPACE, SANDBOX, OUTPUT, REQUEST_EXIT_CODES],
  });
}
