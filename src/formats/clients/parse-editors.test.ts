import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { parseClientFile } from "./parse.ts";
import type { ClientContext, ClientFile, ClientId } from "./types.ts";

const linux: ClientContext = { home: "/home/me", cwd: "/home/me/work", platform: "linux" };

function read(text: string, file: string, client?: ClientId, context: ClientContext = linux): ClientFile {
  const found = parseClientFile(text, file, client, context);
  if (found === undefined) throw new Error(`${file} is not taken for a client's file`);
  return found;
}

/** Diagnostics on one line each, as in a terminal. */
function shown({ diagnostics }: Pick<ClientFile, "diagnostics">): string[] {
  return diagnostics.map(
    ({ line, column, severity, message, hint }: Diagnostic) =>
      `${line}:${column} ${severity} ${message}${hint === undefined ? "" : ` | ${hint}`}`,
  );
}

test("Claude Code: reads the .mcp.json of a project", () => {
  const found = read(
    `{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer \${GITHUB_PAT}" },
      "timeout": 600000
    },
    "airtable": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "airtable-mcp-server", "--root", "\${CLAUDE_PROJECT_DIR}"],
      "env": { "AIRTABLE_API_KEY": "\${AIRTABLE_API_KEY}", "REGION": "\${REGION:-eu}" }
    },
    "feed": { "type": "sse", "url": "\${API_BASE:-https://api.example.com}/sse" },
    "live": { "type": "ws", "url": "wss://live.example.com/mcp" }
  }
}
`,
    "/repo/.mcp.json",
  );
  expect(found.client).toBe("claude-code");
  expect(shown(found)).toEqual([]);
  expect(found.servers).toEqual([
    {
      alias: "github",
      name: "github",
      origin: { file: "/repo/.mcp.json", line: 3, column: 5, format: "claude-code" },
      endpoint: {
        transport: "http",
        url: "https://api.githubcopilot.com/mcp/",
        headers: { Authorization: "Bearer ${GITHUB_PAT}" },
      },
      enabled: true,
      limits: { requestTimeoutMs: 600_000 },
    },
    {
      alias: "airtable",
      name: "airtable",
      origin: { file: "/repo/.mcp.json", line: 9, column: 5, format: "claude-code" },
      endpoint: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "airtable-mcp-server", "--root", "/repo"],
        env: { AIRTABLE_API_KEY: "${AIRTABLE_API_KEY}", REGION: "${REGION:-eu}" },
      },
      enabled: true,
    },
    {
      alias: "feed",
      name: "feed",
      origin: { file: "/repo/.mcp.json", line: 15, column: 5, format: "claude-code" },
      endpoint: { transport: "sse", url: "${API_BASE:-https://api.example.com}/sse" },
      enabled: true,
    },
    {
      alias: "live",
      name: "live",
      origin: { file: "/repo/.mcp.json", line: 16, column: 5, format: "claude-code" },
      endpoint: { transport: "websocket", url: "wss://live.example.com/mcp" },
      enabled: true,
    },
  ]);
});

const CLAUDE_USER = `{
  "numStartups": 34,
  "mcpServers": {
    "memory": { "type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {} },
    "shared": { "command": "everywhere" },
    "quiet": { "command": "quiet" }
  },
  "projects": {
    "/home/me/work": {
      "allowedTools": [],
      "history": [],
      "mcpServers": { "shared": { "command": "only-here" } },
      "disabledMcpServers": ["quiet"]
    },
    "/home/me/other": { "mcpServers": { "elsewhere": { "command": "x" } } }
  }
}`;

test("Claude Code: reads the user's ~/.claude.json with the servers of the current project", () => {
  const found = read(CLAUDE_USER, "/home/me/.claude.json");
  expect(
    found.servers.map(({ alias, project, enabled, endpoint }) => [alias, project, enabled, endpoint]),
  ).toEqual([
    [
      "memory",
      undefined,
      true,
      { transport: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] },
    ],
    ["quiet", undefined, false, { transport: "stdio", command: "quiet" }],
    ["shared", "/home/me/work", true, { transport: "stdio", command: "only-here" }],
  ]);
  expect(shown(found)).toEqual([
    '5:5 info "shared" is also declared under projects./home/me/work.mcpServers. Portolan uses that declaration, and ignores this one',
  ]);
});

test("Claude Code: reports two servers whose different names give the same alias", () => {
  const text = JSON.stringify({
    mcpServers: { "my server": { command: "x" } },
    projects: { "/home/me/work": { mcpServers: { my_server: { command: "y" } } } },
  });
  const found = read(text, "/home/me/.claude.json");
  expect(found.servers.map(({ name }) => name)).toEqual(["my_server"]);
  expect(shown(found)).toContainEqual(
    expect.stringContaining(
      'info "my server" has the same alias my_server as "my_server" under projects./home/me/work.mcpServers. Portolan uses the server under projects./home/me/work.mcpServers',
    ),
  );
});

test("Claude Code: reads the servers of all projects if the caller requests them", () => {
  const { servers } = read(CLAUDE_USER, "/home/me/.claude.json", undefined, { ...linux, projects: "all" });
  expect(servers.map(({ alias, project }) => [alias, project])).toEqual([
    ["memory", undefined],
    ["shared", undefined],
    ["quiet", undefined],
    ["shared", "/home/me/work"],
    ["elsewhere", "/home/me/other"],
  ]);
});

test("Claude Code on Windows: compares project paths without regard to slashes and case", () => {
  const text = JSON.stringify({ projects: { "C:/Users/Me/Work": { mcpServers: { a: { command: "x" } } } } });
  const { servers } = read(text, "C:\\Users\\me\\.claude.json", undefined, {
    home: "C:\\Users\\me",
    cwd: "c:\\users\\me\\work\\",
    platform: "win32",
  });
  expect(servers.map(({ alias }) => alias)).toEqual(["a"]);
});

test("Claude Desktop: does not replace shell variables in arguments", () => {
  const found = read(
    `{
    "globalShortcut": "",
    "mcpServers": {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]
        },
        "loop": { "command": "bash", "args": ["-c", "for f in *; do echo \${f} $HOME; done"] }
    }
}`,
    "/Users/me/Library/Application Support/Claude/claude_desktop_config.json",
    undefined,
    { home: "/Users/me", cwd: "/Users/me", platform: "darwin" },
  );
  expect(found.client).toBe("claude-desktop");
  expect(shown(found)).toEqual([]);
  expect(found.servers.map(({ endpoint }) => endpoint)).toEqual([
    {
      transport: "stdio",
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"],
    },
    { transport: "stdio", command: "bash", args: ["-c", "for f in *; do echo $${f} $HOME; done"] },
  ]);
});

test("Cursor: reads its own variables and those of other clients", () => {
  const found = read(
    `{
  "mcpServers": {
    "local": {
      "command": "python",
      "args": ["\${workspaceFolder}/tools/mcp_server.py", "\${workspaceFolderBasename}", "a\${/}b"],
      "env": { "API_KEY": "\${env:API_KEY}", "CACHE": "\${userHome}/.cache", "OTHER": "\${OTHER}", "EDITOR": "\${execPath}" },
      "envFile": ".env"
    },
    "remote": { "url": "http://localhost:3000/mcp", "headers": { "X-Key": "\${env:MY_KEY}" } }
  }
}`,
    "/repo/.cursor/mcp.json",
  );
  expect(found.servers.map(({ endpoint, envFile }) => ({ endpoint, envFile }))).toEqual([
    {
      endpoint: {
        transport: "stdio",
        command: "python",
        args: ["/repo/tools/mcp_server.py", "repo", "a/b"],
        env: {
          API_KEY: "${env:API_KEY}",
          CACHE: "/home/me/.cache",
          OTHER: "${OTHER}",
          EDITOR: "$${execPath}",
        },
      },
      envFile: "/repo/.env",
    },
    {
      endpoint: {
        transport: "http",
        url: "http://localhost:3000/mcp",
        headers: { "X-Key": "${env:MY_KEY}" },
      },
      envFile: undefined,
    },
  ]);
  expect(shown(found)).toEqual([
    "6:76 info Cursor itself does not expand ${OTHER}; Portolan does",
    "6:97 warning Portolan cannot resolve ${execPath}: only the running editor knows its value | Write the value in place of the variable.",
    "7:7 warning Cursor reads the variables of envFile, but Portolan does not | List the variables that the server needs under env, as ${NAME}.",
  ]);
});

test("Cursor: in the user's file, workspaceFolder is the working folder", () => {
  const text = '{"mcpServers":{"a":{"command":"x","args":["${workspaceFolder}"],"cwd":"sub"}}}';
  expect(read(text, "/home/me/.cursor/mcp.json").servers[0]?.endpoint).toEqual({
    transport: "stdio",
    command: "x",
    args: ["/home/me/work"],
    cwd: "/home/me/work/sub",
  });
  const windows = read(text, "C:\\repo\\.cursor\\mcp.json", undefined, {
    home: "C:\\Users\\me",
    cwd: "C:\\",
    platform: "win32",
  });
  expect(windows.client).toBe("cursor");
  expect(windows.servers[0]?.endpoint).toEqual({
    transport: "stdio",
    command: "x",
    args: ["C:\\repo"],
    cwd: "C:\\repo\\sub",
  });
});

test("Windsurf: reads serverUrl, file references, disabled servers and disabled tools", () => {
  const found = read(
    `{
  "mcpServers": {
    "figma": {
      "serverUrl": "https://example.com/mcp",
      "headers": { "Authorization": "Bearer \${env:FIGMA_TOKEN}", "X-Id": "\${file:~/.id}" },
      "disabledTools": ["delete_file"]
    },
    "off": { "command": "npx", "disabled": true }
  }
}`,
    "/home/me/.codeium/windsurf/mcp_config.json",
  );
  expect(found.client).toBe("windsurf");
  expect(shown(found)).toEqual([]);
  expect(
    found.servers.map(({ endpoint, enabled, blockTools }) => ({ endpoint, enabled, blockTools })),
  ).toEqual([
    {
      endpoint: {
        transport: "http",
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer ${env:FIGMA_TOKEN}", "X-Id": "${file:/home/me/.id}" },
      },
      enabled: true,
      blockTools: ["delete_file"],
    },
    { endpoint: { transport: "stdio", command: "npx" }, enabled: false, blockTools: undefined },
  ]);
});

test("VS Code: reads servers, inputs, comments and trailing commas", () => {
  const found = read(
    `{
  // asked for once, kept by the editor
  "inputs": [
    { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
  ],
  "servers": {
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask"],
      "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}", "PORT": 8080, "GONE": null },
      "cwd": "\${workspaceFolder}/tools",
    },
    "remote": { "type": "http", "url": "https://x.example/mcp", "headers": { "K": "\${input:perplexity-kay}" } },
  },
}`,
    "/repo/.vscode/mcp.json",
  );
  expect(found.client).toBe("vscode");
  expect(found.servers.map(({ endpoint }) => endpoint)).toEqual([
    {
      transport: "stdio",
      command: "npx",
      args: ["-y", "server-perplexity-ask"],
      env: { PERPLEXITY_API_KEY: "${secrets.perplexity-key}", PORT: "8080" },
      cwd: "/repo/tools",
    },
    { transport: "http", url: "https://x.example/mcp", headers: { K: "${secrets.perplexity-kay}" } },
  ]);
  expect(shown(found)).toEqual([
    '14:78 warning there is no input called "perplexity-kay" | Did you mean "perplexity-key"?',
  ]);
});

test("VS Code: reads mcpServers, with a warning that VS Code expects servers", () => {
  const found = read('{\n  "mcpServers": { "a": { "command": "x" } }\n}', "/repo/.vscode/mcp.json");
  expect(found.servers.map(({ alias }) => alias)).toEqual(["a"]);
  expect(shown(found)).toEqual([
    '2:3 warning the servers are under "mcpServers", where VS Code does not read them | Put them under "servers".',
  ]);
});
