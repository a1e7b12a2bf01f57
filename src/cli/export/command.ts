// `portolan export`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { CLIENTS, exitCodes } from "../output/help.ts";
import type { ExportCommandOptions } from "./export.ts";

export function addExportCommand({ program, explain, run, server = [] }: CommandHost): void {
  const command = defineCommand(program, {
    name: "export",
    summary: "print the workspace's servers for another MCP client, or write them into its config file",
    argument: "[alias...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("--for <client> [alias...] [options]")
    .option("--for <client>", "the client, for example cursor")
    .option("--write [file]", "merge the servers into the client's usual config file, or into this file")
    .option(
      "--scope <scope>",
      "with --write: user (default) or project: which config file of the client is changed",
    )
    .action((words: string[], raw: RawOptions & ExportCommandOptions) =>
      run(raw, async (cli) => (await import("./export.ts")).exportServers(cli, [...words, ...server], raw)),
    );
  explain(command, {
    examples: [
      "portolan export --for cursor",
      "portolan export --for vscode github --write .vscode/mcp.json",
      "portolan export --for codex >> ~/.codex/config.toml",
      "portolan export --for claude-desktop --write",
    ],
    sections: [
      CLIENTS,
      "Without --write, the command prints a snippet and changes no file. With --write, it merges the servers into the client's config file. The other content of the file stays byte for byte, and the command makes a backup.",
      `Output:
  The snippet goes to stdout, also when stdout is not a terminal; with --json, a JSON object that contains it. Settings that the client does not support are reported on stderr.`,
      exitCodes({ 0: "done", 2: "wrong usage or input, or a file that cannot be used" }),
    ],
  });
}
