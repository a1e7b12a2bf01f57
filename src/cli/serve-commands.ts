// The commands about the gateway: serve, token.

import type { Command } from "commander";
import { SERVE_HELP, TOKEN_HELP } from "./help-serve.ts";
import { EXIT_CODES_OF_A_SERVICE } from "./interrupt.ts";
import { addWorkspaceOption, collect, type RawOptions } from "./options.ts";
import { addSandboxOptions } from "./sandbox-options.ts";
import type { RawServeOptions } from "./serve-options.ts";
import type { Host } from "./workspace-commands.ts";

export function addServeCommands({ program, explain, run, server }: Host): void {
  explain(
    addSandboxOptions(
      addWorkspaceOption(
        addLineOptions(
          program
            .command("serve")
            .description("serve the workspace, or one server, as one MCP server")
            .argument("[workspace...]"),
        ),
      ),
    )
      .usage("[workspace | target] [options]\n       portolan serve [options] -- <command> [args...]")
      .option("--stdio", "serve on stdin and stdout, for a client that starts this command")
      .option("--host <host>", "the address to listen at (default: 127.0.0.1)")
      .option("--port <port>", "the port to listen at; 0 is any free one (default: 7420)")
      .option("--only <server>", "serve this server of the workspace (repeatable)", collect)
      .option("--driver-code", "run the code that lies beside drivers, with all your rights")
      .option("--show-token", "show the token on a terminal, and what to paste into clients with it")
      .option("--new-token", "make a new token; who has the old one is locked out")
      .option("--no-auth", "let in everyone who can reach it, without a token")
      .option("--allow-host <name>", "a name under which it may be reached (repeatable)", collect)
      .option("--allow-origin <origin>", "a web page that may use it (repeatable)", collect)
      .option("--tls-cert <file>", "serve HTTPS with this certificate (PEM)")
      .option("--tls-key <file>", "the key of the certificate (PEM)")
      .option("--sse", "offer the old HTTP+SSE transport too")
      .option("--websocket", "offer WebSocket too")
      .option("--wait <time>", "how long to wait for the servers at the start: 30, 500ms, 2m (default: 10)")
      .option("--header <header>", 'HTTP header to send, as "Name: value" (repeatable; one URL)', collect)
      .option("--env <variable>", "NAME=value, or NAME to pass on (repeatable; one command)", collect)
      .option("--cwd <dir>", "working directory of the server (one command)")
      .option("--transport <kind>", "http, sse or websocket (one URL)")
      .option("--era <era>", "protocol era: auto, legacy or modern (one URL or command)")
      .action((words: string[], raw: RawServeOptions) =>
        run(
          // Lines for people wherever they go: a log is read by people too.
          { ...raw, text: raw.json !== true },
          async (cli) => (await import("./commands/serve.ts")).serve(cli, { words, server }, raw),
          {
            cancelling: "Stopping. Press Ctrl-C again to leave at once.",
            exitCodes: EXIT_CODES_OF_A_SERVICE,
          },
        ),
      ),
    SERVE_HELP,
  );
  explain(
    addWorkspaceOption(
      addLineOptions(
        program
          .command("token")
          .description("print the token of the workspace's gateway")
          .argument("[workspace...]"),
      ),
    )
      .usage("[workspace] [options]")
      .option("--new", "make a new one; who has the old one is locked out")
      .action((words: string[], raw: RawOptions & { new?: boolean }) =>
        run({ ...raw, text: raw.json !== true }, async (cli) =>
          (await import("./commands/token.ts")).token(cli, words, raw),
        ),
      ),
    TOKEN_HELP,
  );
}

/** Those of every command, but for the form: here it is text unless JSON is asked for. */
function addLineOptions(command: Command): Command {
  return command
    .option("--json", "print JSON on stdout, in place of text")
    .option("--quiet", "no progress, notes or warnings")
    .option("--verbose", "show diagnostics, each call, and causes of errors")
    .option("--no-color", "no colour (also: NO_COLOR, FORCE_COLOR)");
}
