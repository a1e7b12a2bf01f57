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

test("Codex: reads TOML tables, variable names, timeouts and lists of tools", () => {
  const found = read(
    `model = "gpt-5"
# servers
[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env_vars = ["LOCAL_TOKEN", { name = "OTHER" }]
startup_timeout_sec = 20.5
tool_timeout_sec = 45

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"

[mcp_servers."figma one"]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { "X-Id" = "FIGMA_ID" }
enabled = false
enabled_tools = ["open"]
disabled_tools = ["screenshot"]
`,
    "/home/me/.codex/config.toml",
  );
  expect(found.client).toBe("codex");
  expect(shown(found)).toEqual([
    '13:1 info the name "figma one" cannot be a part of tool names; Portolan uses the alias figma_one',
  ]);
  expect(found.servers).toEqual([
    {
      alias: "context7",
      name: "context7",
      origin: { file: "/home/me/.codex/config.toml", line: 3, column: 1, format: "codex" },
      endpoint: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "@upstash/context7-mcp"],
        env: { LOCAL_TOKEN: "${env:LOCAL_TOKEN}", OTHER: "${env:OTHER}", MY_ENV_VAR: "MY_ENV_VALUE" },
      },
      enabled: true,
      limits: { startTimeoutMs: 20_500, requestTimeoutMs: 45_000 },
    },
    {
      alias: "figma_one",
      name: "figma one",
      origin: { file: "/home/me/.codex/config.toml", line: 13, column: 1, format: "codex" },
      endpoint: {
        transport: "http",
        url: "https://mcp.figma.com/mcp",
        headers: {
          "X-Figma-Region": "us-east-1",
          "X-Id": "${env:FIGMA_ID}",
          Authorization: "Bearer ${env:FIGMA_OAUTH_TOKEN}",
        },
      },
      enabled: false,
      allowTools: ["open"],
      blockTools: ["screenshot"],
    },
  ]);
});

test("Codex: reports the positions of TOML errors, and does not repeat the lines", () => {
  const wrong = read(
    '[mcp_servers.a]\ncommand = 3\n[mcp_servers.b]\ncommand = "x"\nenv_http_headers = { A = "sk secret" }\nbearer_token = "sk-verysecret"\n[mcp_servers.c]\nurl = "https://c.example"\nenv_http_headers = { A = "sk secret" }\n',
    "/home/me/.codex/config.toml",
  );
  expect(wrong.servers.map(({ alias }) => alias)).toEqual(["b"]);
  expect(shown(wrong)).toEqual([
    "2:1 error command is a number | Make it a text.",
    "9:22 error env_http_headers.A does not name an environment variable | Write the name of the variable, not its value.",
  ]);
  const broken = read('a = 1\n[mcp_servers.a]\ncommand = "sk-secret\n', "/home/me/.codex/config.toml");
  expect(broken.servers).toEqual([]);
  expect(shown(broken)).toEqual([
    "3:21 error not valid TOML: control characters are not allowed in strings | Portolan does not read the servers after this place.",
  ]);
  expect(JSON.stringify(broken.diagnostics)).not.toContain("sk-secret");
});

test("Gemini CLI: reads httpUrl and url, and the lists of allowed and excluded servers", () => {
  const found = read(
    `{
  "theme": "Default",
  "mcp": { "excluded": ["experimental"] },
  "mcpServers": {
    "pythonTools": {
      "command": "python",
      "args": ["-m", "my_mcp_server", "costs $5"],
      "cwd": "./mcp-servers/python",
      "env": { "DATABASE_URL": "$DB_CONNECTION_STRING", "API_KEY": "\${EXTERNAL_API_KEY}", "R": "\${R:-eu}" },
      "timeout": 15000,
      "trust": true,
      "includeTools": ["safe_tool"],
      "excludeTools": ["dangerous_tool"]
    },
    "http": { "httpUrl": "http://localhost:3000/mcp" },
    "sse": { "url": "http://localhost:3000/sse" },
    "typed": { "url": "http://localhost:3000/mcp", "type": "http" },
    "experimental": { "command": "x" }
  }
}`,
    "/repo/.gemini/settings.json",
  );
  expect(found.client).toBe("gemini");
  expect(shown(found)).toEqual([]);
  expect(found.servers[0]).toEqual({
    alias: "pythonTools",
    name: "pythonTools",
    origin: { file: "/repo/.gemini/settings.json", line: 5, column: 5, format: "gemini" },
    endpoint: {
      transport: "stdio",
      command: "python",
      args: ["-m", "my_mcp_server", "costs $5"],
      cwd: "/repo/mcp-servers/python",
      env: { DATABASE_URL: "${DB_CONNECTION_STRING}", API_KEY: "${EXTERNAL_API_KEY}", R: "${R:-eu}" },
    },
    enabled: true,
    limits: { requestTimeoutMs: 15_000 },
    allowTools: ["safe_tool"],
    blockTools: ["dangerous_tool"],
  });
  expect(found.servers.slice(1).map(({ endpoint, enabled }) => [endpoint.transport, enabled])).toEqual([
    ["http", true],
    ["sse", true],
    ["http", true],
    ["stdio", false],
  ]);
});

test("Gemini CLI on Windows: also replaces %NAME%", () => {
  const text = '{"mcpServers":{"a":{"command":"x","env":{"T":"%TEMP%\\\\a 100%"}}}}';
  const windows = { home: "C:\\Users\\me", cwd: "C:\\w", platform: "win32" } as const;
  const file = "C:\\w\\.gemini\\settings.json";
  expect(read(text, file, undefined, windows).servers[0]?.endpoint).toMatchObject({
    env: { T: "${TEMP}\\a 100%" },
  });
  expect(read(text, "/w/.gemini/settings.json").servers[0]?.endpoint).toMatchObject({
    env: { T: "%TEMP%\\a 100%" },
  });
});

test("OpenCode: reads the command list, {env:} and {file:}, in both versions of the format", () => {
  const found = read(
    `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "everything": {
      "type": "local",
      // or ["bun", "x", "…"]
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "environment": { "KEY": "{env:MY_KEY}", "TEXT": "{file:./secret.txt}" },
      "enabled": false,
      "timeout": 8000,
    },
    "context7": { "type": "remote", "url": "https://mcp.context7.com/mcp", "headers": { "CONTEXT7_API_KEY": "{env:CONTEXT7_API_KEY}" } },
    "jira": { "enabled": true },
  },
}`,
    "/repo/opencode.jsonc",
  );
  expect(found.client).toBe("opencode");
  expect(shown(found)).toEqual([
    "13:5 info Portolan ignores this entry: it only enables or disables a server that is declared elsewhere",
  ]);
  expect(found.servers.map(({ endpoint, enabled, limits }) => ({ endpoint, enabled, limits }))).toEqual([
    {
      endpoint: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-everything"],
        env: { KEY: "${env:MY_KEY}", TEXT: "${file:/repo/secret.txt}" },
      },
      enabled: false,
      limits: { startTimeoutMs: 8_000 },
    },
    {
      endpoint: {
        transport: "http",
        url: "https://mcp.context7.com/mcp",
        headers: { CONTEXT7_API_KEY: "${env:CONTEXT7_API_KEY}" },
      },
      enabled: true,
      limits: undefined,
    },
  ]);
  const second = read(
    '{ "mcp": { "timeout": 5, "servers": { "a": { "type": "local", "command": ["x"], "disabled": true, "timeout": { "startup": 9, "request": 8 } } } } }',
    "/repo/opencode.json",
  );
  expect(second.servers).toMatchObject([
    { alias: "a", enabled: false, limits: { startTimeoutMs: 9, requestTimeoutMs: 8 } },
  ]);
});

test("Axle: reads the list of servers under services", () => {
  const found = read(
    `provider: anthropic
services:
  mcp:
    - name: filesystem
      transport: stdio
      command: npx
      args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"]
    - name: github
      transport: http
      url: http://localhost:3000/mcp
    - transport: http
      url: http://localhost:3000/mcp
    - name: github
      command: x
`,
    "/repo/job.yaml",
  );
  expect(found.client).toBe("axle");
  expect(found.servers).toEqual([
    {
      alias: "filesystem",
      name: "filesystem",
      origin: { file: "/repo/job.yaml", line: 4, column: 7, format: "axle" },
      endpoint: {
        transport: "stdio",
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      },
      enabled: true,
    },
    {
      alias: "github",
      name: "github",
      origin: { file: "/repo/job.yaml", line: 8, column: 7, format: "axle" },
      endpoint: { transport: "http", url: "http://localhost:3000/mcp" },
      enabled: true,
    },
  ]);
  expect(shown(found)).toEqual([
    "11:7 error the server has no name | Give it one.",
    '13:7 error another server already has the name "github" | Give each server its own name.',
  ]);
});

test("reports all errors of an entry at once, also if its transport or its name is unknown", () => {
  const found = read(
    `services:
  mcp:
    - name: a
      transport: stdio
      comand: x
      env: 5
    - name: b
      transport: carrier
      url: 7
      headers: [1]
    - transport: http
      url: nope
`,
    "/repo/job.yaml",
  );
  expect(shown(found).map((line) => line.split(" | ")[0])).toEqual([
    "4:7 error command is missing, but transport is stdio",
    "6:7 error env is a number",
    "8:7 error transport is not a known transport",
    "9:7 error url is a number",
    "10:7 error headers is a list",
    "11:7 error the server has no name",
    "12:7 error url is not a URL",
  ]);
});

test("returns nothing for a file that is not a client's config file", () => {
  for (const [text, file] of [
    ['{"name":"x","scripts":{"a":"b"},"dependencies":{}}', "/repo/package.json"],
    ['{"compilerOptions":{}}', "/repo/tsconfig.json"],
    ["{ broken", "/repo/some.json"],
    ["a: 1", "/repo/some.yaml"],
    ["services: { web: {} }", "/repo/compose.yaml"],
    ["a = 1", "/repo/some.toml"],
    ["", "/repo/empty.json"],
    ["# text", "/repo/README.md"],
  ] as const)
    expect(parseClientFile(text, file, undefined, linux)).toBeUndefined();
});

test("accepts an empty file, or one without servers, at the known location of a client", () => {
  for (const file of ["/repo/.vscode/mcp.json", "/home/me/.gemini/settings.json", "/home/me/.claude.json"])
    for (const text of ["", "  \n", "{}", "\uFEFF{}", '{"mcpServers":{}}', '{"mcpServers":null}'])
      expect(read(text, file)).toMatchObject({ servers: [], diagnostics: [] });
});

test.each([
  ['{"mcpServers":{"a":{"command":"x"}}}', "/x/some.json", "claude-code"],
  ['{"mcpServers":{"a":{"httpUrl":"https://x"}}}', "/x/some.json", "gemini"],
  ['{"servers":{"a":{"command":"x"}}}', "/x/some.json", "vscode"],
  ['{"mcp":{"a":{"type":"local","command":["x"]}}}', "/x/some.json", "opencode"],
  ['{"a":{"command":"x"},"b":{"url":"https://x"}}', "/x/some.json", "claude-code"],
  ['[mcp_servers.a]\ncommand="x"', "/x/some.toml", "codex"],
])("recognizes the client of %s by the content", (text, file, client) => {
  expect(read(text, file).client).toBe(client);
  expect(read(text, file).servers.length).toBeGreaterThan(0);
});
