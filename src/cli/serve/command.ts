// `portolan serve` and `portolan token`: definitions and help.

import type { CommandHost } from "../context.ts";
import {
  collect,
  defineCommand,
  driverCodeOption,
  gatewayOptions,
  plainOutputOptions,
  sandboxOptions,
  workspaceOption,
} from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { RawServeOptions } from "./options.ts";
import type { RawTokenOptions } from "./token.ts";

const SERVED = `Served servers:
  (no argument)             the servers of this folder's config files; if there is no config file, those of other MCP clients
  ~/project, portolan.yaml  a folder, or one config file; the same as -w
  mcpfile.yaml              tools without a server program; if the file has one server, its tools keep their names
  https://host/mcp          one server by its URL; its tools keep their names
  "npx -y some-server"      one server by a quoted command
  -- node server.js --flag  the same, word by word`;

const ADDRESSES = `Addresses:
  /mcp                      all servers, for clients of every MCP revision (Streamable HTTP)
  /servers/<name>/mcp       one server; its tools keep their names
  /tags/<tag>/mcp           the servers with a tag
  /healthz, /readyz         whether the gateway runs, and whether at least one of its servers can be used
  /metrics                  metrics for Prometheus, if portolan.yaml has telemetry.prometheus
  /sse                      the old HTTP+SSE transport (--sse); WebSocket is at /mcp (--websocket)`;

const TOKEN = `Token:
  Clients send the token as Authorization: Bearer <token>. The first start creates the token and shows it once on a terminal; portolan token prints it again. --new-token creates a new token; clients with the old token are then refused.`;

const SETTINGS = `Settings:
  The section gateway: of portolan.yaml can contain host, port, tls and the other settings of these options, and also callers, OAuth and limits. An option overrides the setting in the file; --allow-host and --allow-origin add to it.`;

const OUTPUT = `Output:
  stderr shows the address, the state of the servers and the lines to paste into clients, then one line for each change of a server, each reload and each refused request; with --verbose, also each call and other events. Without a terminal, each line of stderr has a date; with --log-format json, each line is JSON. With --json, stdout gets one line of JSON with the address and the servers. With --stdio, stdout contains only MCP messages. stderr then shows whether the servers of a running gateway or separate servers are used, failures, and calls that wait for approval.`;

const RUNNING = `Running gateway:
  While a gateway runs, portolan status, why, list and call in the same workspace use the servers of the gateway. portolan events shows the events of the gateway, and portolan restart, logs, reload and stop control the gateway. The gateway applies changed config files when they are saved; SIGHUP makes the gateway read all config files and secrets again. With --daemon, the gateway runs in the background; portolan service install starts it with your session. portolan serve --stdio connects its client to the running gateway, so that all clients share the same servers. If no gateway runs, portolan serve --stdio starts servers of its own.`;

export function addServeCommands({ program, explain, run, server }: CommandHost): void {
  const serve = defineCommand(program, {
    name: "serve",
    summary: "serve the workspace, or one server, as one MCP server",
    argument: "[workspace...]",
    groups: [plainOutputOptions, workspaceOption, sandboxOptions],
  })
    .usage("[workspace | target] [options]\n       portolan serve [options] -- <command> [args...]")
    .option("--stdio", "serve on stdin and stdout, for a client that starts this command")
    .option("--standalone", "with --stdio: start separate servers, even if a gateway of the workspace runs");
  driverCodeOption(gatewayOptions(serve))
    .option("--show-token", "show the token on a terminal, and in the lines to paste into clients")
    .option("--new-token", "create a new token; the gateway then refuses clients with the old token")
    .option(
      "--daemon",
      "start the gateway in the background, and wait until it accepts connections or has failed",
    )
    .option("--log-format <format>", "pretty, text or json (default: pretty on a terminal, else text)")
    .option("--log-file <file>", "write the log to this file, which is rotated, in place of stderr")
    .option(
      "--wait <time>",
      "wait at most this long for the servers at the start: 30 (seconds), 500ms, 2m (default: 10 seconds)",
    )
    .option(
      "--header <header>",
      'HTTP header to send, as "Name: value" (repeatable; only if you serve one URL)',
      collect,
    )
    .option(
      "--env <variable>",
      "NAME=value for the server, or NAME to pass on your own variable (repeatable; only if you serve one command)",
      collect,
    )
    .option("--cwd <dir>", "working directory of the server (only if you serve one command)")
    .option("--transport <kind>", "http, sse or websocket (only if you serve one URL)")
    .option(
      "--era <era>",
      "protocol era: auto, legacy (MCP up to 2025-11-25) or modern (MCP 2026-07-28; only if you serve one URL or command)",
    )
    .action((words: string[], raw: RawServeOptions) =>
      run(
        // Text also when it is redirected: a log is for people too.
        { ...raw, text: raw.json !== true },
        async (cli) => (await import("./serve.ts")).serve(cli, { words, server }, raw),
        {
          // The log of the gateway reports it in its own format.
          cancelling: "",
          // A service that stops on request has succeeded. SIGHUP reloads.
          exitCodes: { SIGINT: 130, SIGTERM: 0 },
        },
      ),
    );
  explain(serve, {
    examples: [
      "portolan serve",
      "portolan serve ~/project --port 8080",
      "portolan serve mcpfile.yaml",
      "portolan serve mcpfile.yaml --stdio",
      "portolan serve --only github --only files",
      "portolan serve --daemon",
      "portolan serve --stdio",
      "portolan serve -- npx -y @modelcontextprotocol/server-filesystem .",
      "portolan serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host tools.example.com",
      "portolan serve --port 0 --json > gateway.json &",
    ],
    sections: [
      SERVED,
      ADDRESSES,
      TOKEN,
      SETTINGS,
      OUTPUT,
      RUNNING,
      exitCodes({
        0: "stopped by SIGTERM or portolan stop, stdin has ended (--stdio), or it runs in the background (--daemon)",
        2: "wrong usage, a config file that cannot be used, or a port that is taken",
        3: "the gateway was killed while it started (--daemon)",
        124: "the gateway was not ready in time (--daemon)",
        130: "stopped by Ctrl-C; a second Ctrl-C quits immediately",
      }),
    ],
  });

  const token = defineCommand(program, {
    name: "token",
    summary: "print the token of the workspace's gateway",
    argument: "[workspace...]",
    groups: [plainOutputOptions, workspaceOption],
  })
    .usage("[workspace] [options]")
    .option(
      "--new",
      "create a new token; a running gateway accepts the old token until you run portolan reload",
    )
    .action((words: string[], raw: RawTokenOptions) =>
      run({ ...raw, text: raw.json !== true }, async (cli) =>
        (await import("./token.ts")).token(cli, words, raw),
      ),
    );
  explain(token, {
    examples: [
      "portolan token",
      'claude mcp add --transport http portolan http://127.0.0.1:7420/mcp --header "Authorization: Bearer $(portolan token)"',
      "portolan token ~/project --new",
    ],
    sections: [
      "The command prints the token and nothing else, so that a command line can use it. It creates a token if there is none. After --new, run portolan reload, or restart the gateway. The gateway then refuses clients with the old token.",
      exitCodes({ 0: "done", 2: "wrong usage, or a file that cannot be used" }),
    ],
  });
}
