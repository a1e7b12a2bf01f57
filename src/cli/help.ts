// What --help says beyond the list of options.

import { wrap } from "./layout.ts";

/** Breaks long lines, the second column of a table under itself; examples stay whole, to be copied. */
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

const TARGETS = `
Targets:
  github                      a server of the workspace, by its alias: what this folder declares, or --workspace names
  mcpfile.yaml                a declaration of any kind: its servers, as -w does; tools by their own names, or <server>.<tool>
  https://host/mcp            a URL: Streamable HTTP (with the fallback to SSE); ws:// and wss:// for WebSocket
  "npx -y some-server"        a quoted command: split into words here, never run by a shell
  -- node server.js --flag    everything after -- is the command, word by word; then no target stands before it`;

const SANDBOX = `
Sandbox:
  A command runs in a sandbox: a read-only system and its own folder, an empty home, no network. --allow-net, --allow-read, --allow-write and --root grant more; --sandbox off switches it off. What a command would get: portolan why --plan -- <command...>`;

const EXIT_CODES = `
Exit codes:
  0    done
  1    the tool reported an error, or the server refused the request
  2    wrong usage or input
  3    the server cannot be reached, or no driver can serve the contract
  4    it broke the protocol
  5    sign-in needed
  70   a bug here
  124  out of time
  130  interrupted (Ctrl-C)
  143  terminated`;

const FORMS = `
Output:
  On a terminal: text. Otherwise, or with --json: JSON on stdout and nothing else there. An error goes to stderr in the same form; as JSON it is one line, the last one: {"error": {"code", "message", "hint", ...}}`;

const help = (examples: string): string =>
  `${TARGETS}\n${SANDBOX}\n\nExamples:\n${examples}\n${FORMS}\n${EXIT_CODES}`;

export const ROOT_HELP: string = `${TARGETS}
${EXIT_CODES}

Run portolan <command> --help for the options of a command.`;

export const LIST_HELP: string = help(`  portolan list
  portolan list github
  portolan list mcpfile.yaml
  portolan list https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"
  portolan list "npx -y @modelcontextprotocol/server-everything"
  portolan list --all -- node server.js --port 0
  portolan list --allow-net api.example.com -- node server.js
  portolan list "npx -y some-server" --json | jq '.tools[].name'`);

export const CALL_HELP: string = `
Arguments:
  key=value       as the tool's schema wants it: text stays text for a string, 5 is a number for a number, true a boolean
  key=a key=b     an array; or key='["a","b"]'
  a.b=1           inside an object
  key:=json       JSON, whatever the schema says
  key=@file       the text of a file; key:=@file its JSON; key=@@x for a text that begins with @
  'tool(a: 1)'    a call as portolan list prints it, with values in place of the types
  --args '{...}'  all arguments as JSON; --args - reads them from stdin. key=value goes over it
${help(`  portolan call github.create_issue title="A bug" labels=ui
  portolan call mcp_github_create_issue title="A bug"
  portolan call mcpfile.yaml say text=hi
  portolan call tools.yaml server.say text=hi
  portolan call https://mcp.example.com/mcp create_issue title="A bug" labels=ui labels=urgent
  portolan call "npx -y some-server" 'create_issue(title: "A bug", labels: ["ui"])'
  portolan call create_issue title=@title.txt -- node server.js
  portolan call note-read name=hello.md --pin filesystem-mcp
  echo '{"title": "A bug"}' | portolan call https://mcp.example.com/mcp create_issue --args -`)}`;

export const READ_HELP: string = help(`  portolan read file:///notes.md
  portolan read files file:///notes.md
  portolan read mcpfile.yaml docs://index
  portolan read https://mcp.example.com/mcp file:///notes.md
  portolan read "npx -y some-server" demo://image --out image.png
  portolan read demo://text -- node server.js`);

export const PROMPT_HELP: string = help(`  portolan prompt github.review language=python
  portolan prompt mcpfile.yaml review language=python
  portolan prompt https://mcp.example.com/mcp review language=python code=@main.py
  portolan prompt greet name=Ann -- node server.js`);
