// `portolan list`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, serverOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { OUTPUT, REQUEST_EXIT_CODES, SANDBOX, TARGETS } from "../output/help.ts";
import type { ListOptions } from "./view.ts";

export function addListCommand({ program, explain, run, server }: CommandHost): void {
  const list = defineCommand(program, {
    name: "list",
    summary: "show the tools of the workspace, or everything that one server offers",
    argument: "[target...]",
    groups: [serverOptions],
  })
    .usage("[server | target] [tool] [options]\n       portolan list [options] -- <command> [args...]")
    .option(
      "--wait <time>",
      "wait at most this long until the servers of the workspace are ready: 30 (seconds), 500ms, 2m",
    )
    .option("-l, --long", "show the descriptions and parameters of the tools of all servers")
    .option("--all", "show every parameter and every line of text")
    .option("--schema", "show the complete JSON Schemas of the tools")
    .option(
      "--caller <name>",
      "show the tools that this caller of the gateway may use, and the rules that refuse the others",
    )
    .action((words: string[], raw: RawOptions & ListOptions) =>
      run(raw, async (cli) => (await import("./list.ts")).list(cli, { words, server }, raw)),
    );
  explain(list, {
    examples: [
      "portolan list",
      "portolan list --long",
      "portolan list github",
      "portolan list github create_issue",
      "portolan list --caller ci",
      "portolan list mcpfile.yaml",
      'portolan list https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"',
      'portolan list "npx -y @modelcontextprotocol/server-everything"',
      "portolan list --all -- node server.js --port 0",
      "portolan list --allow-net api.example.com -- node server.js",
      `portolan list "npx -y some-server" --json | jq '.tools[].name'`,
    ],
    sections: [TARGETS, SANDBOX, OUTPUT, REQUEST_EXIT_CODES],
  });
}
