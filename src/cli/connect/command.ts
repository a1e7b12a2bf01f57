// `portolan connect` and `portolan disconnect`: definitions and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { CLIENTS, exitCodes, OUTPUT } from "../output/help.ts";
import type { ConnectOptions } from "./connect.ts";
import type { DisconnectOptions } from "./disconnect.ts";

const EXIT_CODES = exitCodes({
  0: "done",
  2: "wrong usage, a file that cannot be used or changed, or --yes is missing and there is no terminal",
  130: "you declined, or interrupted the command (Ctrl-C)",
});

export function addConnectCommands({ program, explain, run, server = [] }: CommandHost): void {
  const connect = defineCommand(program, {
    name: "connect",
    summary:
      "let MCP clients use the gateway of this workspace: one entry in place of the servers that the gateway offers",
    argument: "[client...]",
    groups: [outputOptions, workspaceOption],
  })
    .option("--all", "connect every client that is found in your home folder")
    .option(
      "--import",
      "first copy the clients' servers that this workspace does not have into its portolan.yaml",
    )
    .option(
      "--secrets <place>",
      "for plain-text secrets: vault or keyring stores them encrypted, keep copies them as plain text",
    )
    .option(
      "--strict",
      "with --import: fail if the sandbox of a server hides a file that the server's arguments or variables name",
    )
    .option("--http", "connect by the URL of a running gateway; the token is never written into the file")
    .option("--scope <scope>", "user (default) or project: which config file of the client is changed")
    .option("--file <file>", "change this config file of the client")
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
      "Without a client, the command shows the clients of this computer, their state, and the command that connects each.",
      "Portolan adds one entry to the client's file, and removes from this file only the servers that the workspace has too. The rest of the file stays byte for byte. portolan disconnect restores the file.",
      "Servers that the workspace does not have are imported if you agree at the terminal, or with --import. Plain-text secrets are not copied without your consent: --secrets decides. Without --secrets, Portolan asks at a terminal; elsewhere, or with --yes, a server with a plain-text secret stays in the client.",
      "A client starts the gateway with portolan serve --stdio. With --http it uses the address of the running gateway: VS Code asks for the token, other clients read it from PORTOLAN_TOKEN. The config of Claude Desktop supports no URLs, so Claude Desktop starts the gateway even if you use --http.",
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
    .option("--all", "disconnect every connected client")
    .option("--yes", "do not ask, even if a file was changed after connect")
    .option("--dry-run", "show what would be restored, and write nothing")
    .action((words: string[], raw: RawOptions & DisconnectOptions) =>
      run(raw, async (cli) => (await import("./disconnect.ts")).disconnect(cli, [...words, ...server], raw)),
    );
  explain(disconnect, {
    examples: ["portolan disconnect cursor", "portolan disconnect --all --dry-run"],
    sections: [
      CLIENTS,
      "If a file was not changed after the first connect, its old content is restored byte for byte. If the file was changed, Portolan only removes the gateway's entry, and adds the servers again that connect removed. Other changes and comments stay.",
      OUTPUT,
      EXIT_CODES,
    ],
  });
}
