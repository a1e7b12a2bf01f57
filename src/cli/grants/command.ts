// `portolan grant` and `portolan revoke`: definitions and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";
import type { GrantOptions } from "./grant.ts";

type Raw = Omit<RawOptions, "env"> & GrantOptions;

const FILES = `Files:
  Portolan changes the file that declares the server: portolan.yaml, a bridge manifest, an mcpfile with a sandbox, or VS Code's mcp.json with sandboxEnabled. If the server is in the config file of another client, portolan grant first copies the server to portolan.yaml. Comments and all other content stay.
  To grant rights for one call only: portolan call <server>.<tool> --once --read <path>`;

export function addGrantCommands({ program, explain, run }: CommandHost): void {
  for (const verb of ["grant", "revoke"] as const) {
    const isGrant = verb === "grant";
    const command = defineCommand(program, {
      name: verb,
      summary: isGrant
        ? "let a server use files, hosts or environment variables"
        : "revoke the access of a server to files, hosts or environment variables",
      argument: "[server...]",
      groups: [outputOptions, workspaceOption],
    })
      .usage("<server> [options]")
      .option(
        "--read <path>",
        isGrant
          ? "folder or file that the server may read (repeatable)"
          : "remove the grant to read this folder or file (repeatable)",
        collect,
      )
      .option(
        "--write <path>",
        isGrant
          ? "folder or file that the server may read and write (repeatable)"
          : "remove the grant to read and write this folder or file (repeatable)",
        collect,
      )
      .option(
        "--net <host>",
        isGrant
          ? "host that the server may reach: host, *.host or host:port (repeatable)"
          : "remove the grant to reach this host: host, *.host or host:port (repeatable)",
        collect,
      )
      .option(
        "--env <name>",
        isGrant
          ? "variable of your environment that the server gets (repeatable)"
          : "remove the grant of this variable of your environment (repeatable)",
        collect,
      )
      .option("--dry-run", "show the difference, and write nothing");
    if (isGrant)
      command.option(
        "--data <folder>",
        "folder for the data of a server that would write into its program folder, such as server-memory; Portolan creates the folder",
      );
    command.action((words: string[], raw: Raw) => {
      const { env: _, ...common } = raw;
      return run(common, async (cli) => (await import("./grant.ts")).changeGrants(cli, verb, words, raw));
    });
    explain(command, {
      examples: isGrant
        ? [
            "portolan grant files --write ~/notes",
            "portolan grant weather --net api.weather.gov --read ./places.json",
            "portolan grant editor --env EDITOR --dry-run",
            "portolan grant memory --data ~/server-memory",
          ]
        : ["portolan revoke files --write ~/notes", "portolan revoke weather --net api.weather.gov"],
      sections: [
        FILES,
        WORKSPACE,
        exitCodes({
          0: "done",
          2: "wrong usage or input, a file that cannot be used or changed, or a running gateway does not use the change",
          3: "a running gateway does not answer, or cannot start the server with the change",
        }),
      ],
    });
  }
}
