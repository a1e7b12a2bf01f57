import { describe, expect, test } from "vitest";
import { parseClientFile } from "./parse.ts";
import type { ClientServer } from "./types.ts";
import { mergeInto } from "./write.ts";

const CONFIG = `# my settings
model = "gpt-5"   # the big one
notify = ["bash", "-c", "echo '[mcp_servers.fake]'"]

[tui]
theme = """
[mcp_servers.also_fake]
command = "no"
"""

[mcp_servers.docs]  # documentation
# how to start it
command   =   "npx"
args = [
  "-y",      # yes
  "docs-mcp",
]
startup_timeout_sec = 20 # slow
[mcp_servers.docs.env]
LOG = "1" # quiet
KEEP = 'as is'

[mcp_servers.docs.tools.search]
approval_mode = "approve"

[mcp_servers.inline]
url = "https://x.example/mcp"
http_headers = { "X-A" = "1", "X-B" = "2" }

[profiles.fast]
model = "mini"
`;

const context = { home: "/h", cwd: "/w", platform: "linux", file: "/h/.codex/config.toml" } as const;

function servers(text: string = CONFIG): ClientServer[] {
  return [...(parseClientFile(text, context.file, "codex", context)?.servers ?? [])];
}

function merge(change: (server: ClientServer) => ClientServer, text: string = CONFIG): string {
  return mergeInto("codex", text, servers(text).map(change), context).text;
}

describe("merging into the file of Codex", () => {
  test("changes nothing if the servers are those of the file", () => {
    expect(servers().map(({ alias }) => alias)).toEqual(["docs", "inline"]);
    expect(merge((server) => server)).toBe(CONFIG);
  });

  test("replaces values in place", () => {
    const edited = merge((server) =>
      server.endpoint.transport === "stdio"
        ? {
            ...server,
            limits: { startTimeoutMs: 5_000 },
            endpoint: { ...server.endpoint, command: "node", env: { LOG: "2", KEEP: "as is" } },
          }
        : server,
    );
    expect(edited).toBe(
      CONFIG.replace('command   =   "npx"', 'command   =   "node"')
        .replace("startup_timeout_sec = 20 #", "startup_timeout_sec = 5 #")
        .replace('LOG = "1" #', 'LOG = "2" #'),
    );
  });

  test("adds and removes settings as lines of their table", () => {
    const edited = merge((server) =>
      server.endpoint.transport === "stdio"
        ? {
            ...server,
            limits: { requestTimeoutMs: 7_000 },
            enabled: false,
            endpoint: { ...server.endpoint, env: { LOG: "1", NEW: "n" } },
          }
        : { ...server, endpoint: { ...server.endpoint, headers: { "X-B": "2", "X-C": "3" } } },
    );
    expect(edited).toBe(
      CONFIG.replace("startup_timeout_sec = 20 # slow\n", "enabled = false\ntool_timeout_sec = 7\n")
        .replace("KEEP = 'as is'\n", 'NEW = "n"\n')
        .replace('{ "X-A" = "1", "X-B" = "2" }', '{ "X-B" = "2", X-C = "3" }'),
    );
  });

  test("removes a whole table of settings", () => {
    const edited = merge((server) =>
      server.endpoint.transport === "stdio"
        ? { ...server, endpoint: { transport: "stdio", command: "npx" } }
        : server,
    );
    expect(edited).not.toContain("[mcp_servers.docs.env]");
    expect(edited).toContain("[mcp_servers.docs.tools.search]");
    expect(servers(edited)[0]?.endpoint).toEqual({ transport: "stdio", command: "npx" });
  });

  test("adds a new server after the others", () => {
    const added = { ...servers()[0], alias: "new", name: "new" } as ClientServer;
    expect(mergeInto("codex", CONFIG, [added], context).text).toBe(
      CONFIG.replace(
        '"X-B" = "2" }\n',
        `"X-B" = "2" }

[mcp_servers.new]
command = "npx"
args = ["-y", "docs-mcp"]
startup_timeout_sec = 20

[mcp_servers.new.env]
LOG = "1"
KEEP = "as is"
`,
      ),
    );
    expect(
      mergeInto("codex", "a = 1", [{ ...added, endpoint: { transport: "stdio", command: "x" } }]).text,
    ).toBe('a = 1\n\n[mcp_servers.new]\ncommand = "x"\nstartup_timeout_sec = 20\n');
  });

  test.each([
    [
      '[mcp_servers]\na = { command = "x", args = ["1"] }\n',
      '[mcp_servers]\na = { command = "y", args = ["1"], cwd = "/srv" }\n',
    ],
    [
      'mcp_servers.a.command = "x"\nmcp_servers.a.args = ["1"]\nz = 1\n',
      'mcp_servers.a.command = "y"\nmcp_servers.a.args = ["1"]\nmcp_servers.a.cwd = "/srv"\nz = 1\n',
    ],
    [
      'mcp_servers = { a = { command = "x", args = ["1"] } }',
      'mcp_servers = { a = { command = "y", args = ["1"], cwd = "/srv" } }',
    ],
    [
      '[mcp_servers."a"]\r\ncommand = "x"\r\nargs = ["1"]\r\n',
      '[mcp_servers."a"]\r\ncommand = "y"\r\nargs = ["1"]\r\ncwd = "/srv"\r\n',
    ],
    [
      "[mcp_servers.a]\ncommand = 'x'\nargs = ['1']",
      '[mcp_servers.a]\ncommand = "y"\nargs = [\'1\']\ncwd = "/srv"\n',
    ],
  ])("edits %j in its own TOML notation", (before, after) => {
    const edited = merge(
      (server) => ({ ...server, endpoint: { ...server.endpoint, command: "y", cwd: "/srv" } as never }),
      before,
    );
    expect(edited).toBe(after);
  });

  test("adds the header of a table of which only a subtable is in the file", () => {
    const before = '[mcp_servers.a.env]\nX = "1"\n';
    const edited = mergeInto("codex", before, [
      {
        alias: "a",
        origin: { file: "", line: 1, column: 1, format: "x" },
        enabled: true,
        endpoint: { transport: "stdio", command: "x", env: { X: "1" } },
      },
    ]).text;
    expect(edited).toBe('[mcp_servers.a]\ncommand = "x"\n\n[mcp_servers.a.env]\nX = "1"\n');
  });
});
