// `portolan connect` and `portolan disconnect`: definitions and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { CLIENTS, exitCodes, OUTPUT } from "../output/help.ts";
import type { ConnectOptions } from "./connect.ts";
import type { DisconnectOptions } from "./disconnect.ts";

const EXIT_CODES = exitCodes({
  0: "done",
  2: "wrong usage, a file that cannot be used or changed, or no agreement",
});

export function addConnectCommands({ program, explain, run, server = [] }: CommandHost): void {
  const connect = defineCommand(program, {
    name: "connect",
    summary: "give MCP clients one entry, the gateway of this workspace, in place of the servers it offers",
    argument: "[client...]",
    groups: [outputOptions, workspaceOption],
  })
    .option("--all", "every client that is found on this computer")
    .option("--import", "first add the clients' servers that this workspace does not have")
    .option("--secrets <place>", "secrets in clear: store them in vault or keyring, or keep them in clear")
    .option("--strict", "with --import: fail if a server names files that its sandbox hides")
    .option("--http", "by the address of a running gateway; the token is never written into the file")
    .option("--scope <scope>", "the client's file of the user (default), or of the project")
    .option("--file <file>", "this file of the client")
    .option("--yes", "write without asking")
    .option("--dry-run", "show the changes, and write nothing")
    .action((words: string[], raw: RawOptions & ConnectOptions) =>
      run(raw, async (cli) => (await import("./connect.ts")).connect(cli, [...words, ...server], raw)),
    );
  explain(connect, {
    examples: [
      "portolan connect",
      "portolan connect cursor claude-code --import",
      "portolan connect vscode --dry-run",
      "portolan connect codex --http",
    ],
    sections: [
      CLIENTS,
      "Without a client: the clients of this computer, their state, and the command for each.",
      "Only servers that the workspace really has are taken out of the client's file; every other byte stays. portolan disconnect restores the file.",
      "Servers that the workspace does not have are imported after a question, or with --import. Their secrets are not copied in clear without your consent: at a terminal Portolan asks; elsewhere, without --secrets, a server with such a secret stays in the client.",
      "A client starts the gateway with portolan serve --stdio. With --http it uses the address of the running gateway: VS Code asks for the token, other clients read it from PORTOLAN_TOKEN.",
      OUTPUT,
      EXIT_CODES,
    ],
  });

  const disconnect = defineCommand(program, {
    name: "disconnect",
    summary: "restore the config files of MCP clients as they were before connect",
    argument: "[client...]",
    groups: [outputOptions],
  })
    .usage("<client...> [options]")
    .option("--all", "every connected client")
    .option("--yes", "also if a file was changed since, without asking")
    .option("--dry-run", "show what would be restored, and write nothing")
    .action((words: string[], raw: RawOptions & DisconnectOptions) =>
      run(raw, async (cli) => (await import("./disconnect.ts")).disconnect(cli, [...words, ...server], raw)),
    );
  explain(disconnect, {
    examples: ["portolan disconnect cursor", "portolan disconnect --all --dry-run"],
    sections: [
      CLIENTS,
      "A file that is as connect left it becomes byte for byte what it was. In a file that was changed since, only the gateway's entry goes and the servers come back; other changes and comments stay.",
      OUTPUT,
      EXIT_CODES,
    ],
  });
}
