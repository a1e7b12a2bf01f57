// Help texts: the sections that several commands share, and how they fit the terminal.

import { wrap } from "../terminal/layout.ts";

/** The help of a command beyond its usage and its options. */
export interface HelpText {
  /** Command lines to copy, shown before the options. */
  readonly examples: readonly string[];
  /** Paragraphs and titled tables, shown after the options. */
  readonly sections?: readonly string[];
}

/** Breaks long lines; the second column of a table stays under itself, and examples stay whole, to be copied. */
export function fitHelp(text: string, width: number): string {
  let isExample = false;
  return text
    .split("\n")
    .map((line) => {
      if (/^\S/.test(line)) isExample = line.startsWith("Examples");
      if (isExample) return line;
      const [term = ""] = /^ +(?:\S.*? {2,})?/.exec(line) ?? [];
      const text = wrap(line.slice(term.length), width - term.length);
      return term + text.replaceAll("\n", `\n${" ".repeat(term.length)}`);
    })
    .join("\n");
}

export const TARGETS: string = `Targets:
  github                      a server of the workspace, by its alias
  mcpfile.yaml                a config file of any format, as with -w; name its tools as <tool> or <server>.<tool>
  https://host/mcp            a URL: Streamable HTTP, or HTTP+SSE if the server is older; ws:// and wss:// for WebSocket
  "npx -y some-server"        a quoted command: Portolan splits it into words and never runs a shell
  -- node server.js --flag    a command, word by word; write no target before --`;

export const SANDBOX: string = `Sandbox:
  A command runs in a sandbox. The command can read the system's programs and its own program. Its home folder is empty, and it has no network. --allow-net, --allow-read, --allow-write and --root grant more; --sandbox off disables the sandbox. To see the sandbox of a command: portolan why --plan -- <command...>`;

export const OUTPUT: string = `Output:
  On a terminal, or with --text: text. Otherwise, or with --json: only JSON on stdout. Errors go to stderr in the same format; with JSON, the last line of stderr is the error: {"error": {"code", "message", "hint", ...}}`;

export const WORKSPACE: string = `Workspace:
  The servers come from the config files of this folder: portolan.yaml, a bridge manifest, mcpfile.yaml, .mcp.json, .cursor/mcp.json, .vscode/mcp.json or .drivers/<id>/DRIVER.md. --workspace names another folder, or one such file.
  Without a config file, Portolan uses the servers of other MCP clients on this computer, and does not change their files.`;

export const DRIVERS: string = `Drivers:
  A contract (tools/<id>/TOOL.md) defines a tool; a driver (.drivers/<id>/DRIVER.md) implements it with an MCP server. If several drivers can serve a contract, Portolan chooses one of them for each call.`;

export const CLIENTS: string = `Clients:
  claude-code, claude-desktop, cursor, windsurf, vscode, codex, gemini, opencode, axle`;

/** The section of a command's exit codes; every command also has 70 and 130. */
export function exitCodes(own: Readonly<Record<number, string>>): string {
  const codes = { ...own, 70: "a bug in Portolan", 130: own[130] ?? "interrupted (Ctrl-C)" };
  const lines = Object.entries(codes).map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`);
  return ["Exit codes:", ...lines].join("\n");
}

/** The exit codes of commands that make a request to a server. */
export const REQUEST_EXIT_CODES: string = exitCodes({
  0: "done",
  1: "the tool reported an error, or the server refused the request",
  2: "wrong usage or input",
  3: "the server cannot be reached, or no driver can serve the contract",
  4: "the server violated the protocol",
  5: "access denied: a login is needed, or the tool or the package is not allowed",
  124: "a time limit was exceeded",
  143: "terminated (SIGTERM)",
});
