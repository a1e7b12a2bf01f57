// `portolan tokens`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, serverOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { OUTPUT, REQUEST_EXIT_CODES, TARGETS } from "../output/help.ts";
import type { TokensOptions } from "./view.ts";

export function addTokensCommand({ program, explain, run, server }: CommandHost): void {
  const tokens = defineCommand(program, {
    name: "tokens",
    summary:
      "show how many tokens the tool lists take in a model's context, and which tools could be dropped",
    argument: "[target...]",
    groups: [serverOptions],
  })
    .usage("[server | target] [options]\n       portolan tokens [options] -- <command> [args...]")
    .option(
      "--wait <time>",
      "wait at most this long until the servers of the workspace are ready: 30 (seconds), 500ms, 2m",
    )
    .option("--tools", "one line for each tool, the largest first")
    .action((words: string[], raw: RawOptions & TokensOptions) =>
      run(raw, async (cli) => (await import("./tokens.ts")).tokens(cli, { words, server }, raw)),
    );
  explain(tokens, {
    examples: [
      "portolan tokens",
      "portolan tokens --tools",
      "portolan tokens github",
      'portolan tokens "npx -y @modelcontextprotocol/server-everything"',
      "portolan tokens --json | jq '.servers[] | {server, tokens}'",
    ],
    sections: [
      "The tokenizer is o200k_base. The command counts the tokens of the name, the description and the input schema of each tool, as JSON. With an audit log (audit: true in portolan.yaml) of at least 20 tool calls, the command also lists the tools that were not called, and the lines for portolan.yaml that leave them out of the list.",
      TARGETS,
      OUTPUT,
      REQUEST_EXIT_CODES,
    ],
  });
}
