// `portolan import`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { CLIENTS, exitCodes, OUTPUT } from "../output/help.ts";
import type { ImportCommandOptions } from "./import.ts";

export function addImportCommand({ program, explain, run, server = [] }: CommandHost): void {
  const command = defineCommand(program, {
    name: "import",
    summary: "show the servers of other MCP clients on this computer, or copy them into portolan.yaml",
    argument: "[client...]",
    groups: [outputOptions, workspaceOption],
  })
    .option("--write", "add the servers to the workspace's portolan.yaml")
    .option(
      "--secrets <place>",
      "for plain-text secrets: vault or keyring stores them encrypted, keep copies them as plain text",
    )
    .option(
      "--strict",
      "with --write: fail if the sandbox of a server hides a file that the server's arguments or variables name",
    )
    .action((words: string[], raw: RawOptions & ImportCommandOptions) =>
      run(raw, async (cli) => (await import("./import.ts")).importServers(cli, [...words, ...server], raw)),
    );
  explain(command, {
    examples: [
      "portolan import",
      "portolan import cursor claude-desktop",
      "portolan import vscode --write",
      "portolan import --json | jq '.files[].servers[].alias'",
    ],
    sections: [
      CLIENTS,
      "Portolan reads the clients' config files in this folder, in the folders above it up to the root of the repository, and in your home folder. It never changes these files, and never shows values that may be secret.",
      "With --write, Portolan adds the servers that the workspace does not have yet to its portolan.yaml. The other content of portolan.yaml stays as it is, and Portolan makes a backup of the file.",
      "Secrets that are in plain text in a client's file are not copied without your consent: --secrets decides. Without --secrets, Portolan asks at a terminal; elsewhere, a server with a plain-text secret is not imported.",
      OUTPUT,
      exitCodes({
        0: "done",
        1: "a server was left out, because its config is not valid or has a plain-text secret (--write)",
        2: "wrong usage or input, a file that cannot be used, or a running gateway does not use the change",
      }),
    ],
  });
}
