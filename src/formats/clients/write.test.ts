import { expect, test } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import { parseClientFile } from "./parse.ts";
import type { ClientId, WritableServer } from "./types.ts";
import { mergeInto, renderFor } from "./write.ts";

const origin = { file: "/w/portolan.yaml", line: 1, column: 1, format: "manifest" };

function server(
  alias: string,
  endpoint: WritableServer["endpoint"],
  more: Partial<WritableServer> = {},
): WritableServer {
  return { alias, origin, endpoint, enabled: true, ...more };
}

const files = server("fs", {
  transport: "stdio",
  command: "npx",
  args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
  env: { LOG: "1", TOKEN: "${TOKEN}" },
});
const github = server("github", {
  transport: "http",
  url: "https://api.example.com/mcp",
  headers: { Authorization: "Bearer ${secrets.github-pat}" },
});

const UNCONFINED =
  "VS Code runs this server without a sandbox, because Portolan's default sandbox cannot be exported: set sandbox in the config of the server, or connect VS Code to the gateway: portolan connect vscode";

test.each<[ClientId, string, string[]]>([
  [
    "claude-code",
    `{
  "mcpServers": {
    "fs": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "env": {
        "LOG": "1",
        "TOKEN": "\${TOKEN}"
      }
    },
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp",
      "headers": {
        "Authorization": "Bearer \${github-pat}"
      }
    }
  }
}
`,
    ["github: Claude Code has no secret store: set the environment variable github-pat for this client"],
  ],
  [
    "claude-desktop",
    `{
  "mcpServers": {
    "fs": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "env": {
        "LOG": "1",
        "TOKEN": "\${TOKEN}"
      }
    }
  }
}
`,
    [
      "fs: Claude Desktop does not expand ${TOKEN} here, and uses it as literal text",
      "github: Claude Desktop does not support http servers: this server is left out. To use it there, connect the client to the gateway: portolan connect claude-desktop",
    ],
  ],
  [
    "vscode",
    `{
  "servers": {
    "fs": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "env": {
        "LOG": "1",
        "TOKEN": "\${env:TOKEN}"
      }
    },
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp",
      "headers": {
        "Authorization": "Bearer \${input:github-pat}"
      }
    }
  },
  "inputs": [
    {
      "type": "promptString",
      "id": "github-pat",
      "description": "github-pat",
      "password": true
    }
  ]
}
`,
    [`fs: ${UNCONFINED}`],
  ],
  [
    "codex",
    `[mcp_servers.fs]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]
env_vars = ["TOKEN"]

[mcp_servers.fs.env]
LOG = "1"

[mcp_servers.github]
url = "https://api.example.com/mcp"
bearer_token_env_var = "github-pat"
`,
    ["github: Codex has no secret store: set the environment variable github-pat for this client"],
  ],
  [
    "gemini",
    `{
  "mcpServers": {
    "fs": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "env": {
        "LOG": "1",
        "TOKEN": "\${TOKEN}"
      }
    },
    "github": {
      "httpUrl": "https://api.example.com/mcp",
      "headers": {
        "Authorization": "Bearer \${github-pat}"
      }
    }
  }
}
`,
    ["github: Gemini CLI has no secret store: set the environment variable github-pat for this client"],
  ],
  [
    "opencode",
    `{
  "mcp": {
    "fs": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me"],
      "environment": {
        "LOG": "1",
        "TOKEN": "{env:TOKEN}"
      }
    },
    "github": {
      "type": "remote",
      "url": "https://api.example.com/mcp",
      "headers": {
        "Authorization": "Bearer {env:github-pat}"
      }
    }
  }
}
`,
    ["github: OpenCode has no secret store: set the environment variable github-pat for this client"],
  ],
  [
    "axle",
    `services:
  mcp:
    - name: fs
      transport: stdio
      command: npx
      args: [-y, "@modelcontextprotocol/server-filesystem", /home/me]
      env:
        LOG: "1"
        TOKEN: \${TOKEN}
    - name: github
      transport: http
      url: https://api.example.com/mcp
      headers:
        Authorization: Bearer \${secrets.github-pat}
`,
    [],
  ],
])("renders a complete file for %s", (client, text, notes) => {
  const written = renderFor(client, [files, github]);
  expect(written.text).toBe(text);
  expect(written.notes.map(({ server: alias, message }) => `${alias}: ${message}`)).toEqual(notes);
});

test("renders a valid file without servers", () => {
  expect(renderFor("cursor", []).text).toBe('{\n  "mcpServers": {}\n}\n');
  expect(renderFor("codex", []).text).toBe("");
  expect(parseClientFile(renderFor("axle", []).text, "/w/axle.yaml")?.servers).toEqual([]);
});

test("leaves out what a client does not support, and adds a note", () => {
  const odd = [
    server("ws", { transport: "websocket", url: "wss://x.example" }),
    server("off", { transport: "stdio", command: "x" }, { enabled: false }),
    server(
      "picky",
      { transport: "stdio", command: "x", cwd: "/srv" },
      {
        allowTools: ["read_*"],
        limits: { startTimeoutMs: 1000, maxPages: 3 },
        era: "legacy",
      },
    ),
  ];
  const { text, notes } = renderFor("cursor", odd);
  expect(JSON.parse(text)).toEqual({ mcpServers: { picky: { command: "x" } } });
  expect(notes.map(({ server: alias, message }) => `${alias}: ${message}`)).toEqual([
    "ws: Cursor does not support websocket servers: this server is left out. To use it there, connect the client to the gateway: portolan connect cursor",
    "off: Cursor cannot disable a server in its config file: this disabled server is left out",
    "picky: Cursor does not support a folder to start in, a time limit for the start, a list of tools to offer: these settings are left out",
    "picky: Cursor does not have the settings era, max_pages of Portolan: these settings are left out",
  ]);
  expect(renderFor("codex", odd).notes.map(({ server: alias, message }) => `${alias}: ${message}`)).toEqual([
    "ws: Codex does not support websocket servers: this server is left out. To use it there, connect the client to the gateway: portolan connect codex",
    "picky: Codex does not support * in names of tools: it reads * literally",
    "picky: Codex does not have the settings era, max_pages of Portolan: these settings are left out",
  ]);
});

test("adds a note about text that the client would expand", () => {
  const literal = server("a", {
    transport: "stdio",
    command: "x",
    args: ["$HOME", "$${X}"],
    env: { A: "{env:B}" },
  });
  const said = (client: ClientId): string[] =>
    renderFor(client, [literal]).notes.map(({ message }) => message);
  expect(said("gemini")).toEqual(["Gemini CLI would replace a part of the value that must stay as it is"]);
  expect(said("opencode")).toEqual(["OpenCode would replace a part of the value that must stay as it is"]);
  expect(said("cursor")).toEqual([]);
});

const VSCODE = `{
\t// what this team uses
\t"servers": {
\t\t"fs": {
\t\t\t"command": "npx", // no type: VS Code knows
\t\t\t"args": [
\t\t\t\t"-y",
\t\t\t\t"@modelcontextprotocol/server-filesystem",
\t\t\t\t"\${workspaceFolder}"
\t\t\t],
\t\t\t"env": {
\t\t\t\t"LOG": "1", // quiet
\t\t\t\t"TOKEN": "\${env:TOKEN}"
\t\t\t},
\t\t\t"dev": { "watch": "src/**/*.ts" },
\t\t}, // the files
\t\t/* "old": {}, */
\t},
\t"inputs": [],
}
`;

test("merging: changes only the values that differ, and keeps comments, order and unknown keys", () => {
  const place = { home: "/home/me", cwd: "/", platform: "linux", file: "/repo/.vscode/mcp.json" } as const;
  const read = parseClientFile(VSCODE, place.file, "vscode", place)?.servers ?? [];
  expect(mergeInto("vscode", VSCODE, read, place)).toEqual({
    text: VSCODE,
    notes: [{ server: "fs", message: UNCONFINED }],
  });
  const [fs] = read;
  if (fs?.endpoint.transport !== "stdio") throw new Error("no fs");
  const changed = {
    ...fs,
    endpoint: { ...fs.endpoint, env: { LOG: "2", TOKEN: "${env:TOKEN}", NEW: "${secrets.id}" } },
  };
  expect(mergeInto("vscode", VSCODE, [changed, github], place).text).toBe(
    VSCODE.replace('"LOG": "1", // quiet', '"LOG": "2", // quiet')
      .replace('"TOKEN": "${env:TOKEN}"\n', '"TOKEN": "${env:TOKEN}",\n\t\t\t\t"NEW": "${input:id}"\n')
      .replace(
        '/* "old": {}, */\n',
        `/* "old": {}, */
\t\t"github": {
\t\t\t"type": "http",
\t\t\t"url": "https://api.example.com/mcp",
\t\t\t"headers": {
\t\t\t\t"Authorization": "Bearer \${input:github-pat}"
\t\t\t}
\t\t},
`,
      )
      .replace(
        '"inputs": [],',
        `"inputs": [
\t\t{
\t\t\t"type": "promptString",
\t\t\t"id": "id",
\t\t\t"description": "id",
\t\t\t"password": true
\t\t},
\t\t{
\t\t\t"type": "promptString",
\t\t\t"id": "github-pat",
\t\t\t"description": "github-pat",
\t\t\t"password": true
\t\t}
\t],`,
      ),
  );
});

test("merging: edits a file on one line, and keeps Windows line ends and a byte order mark", () => {
  const line =
    '{"numStartups":3,"mcpServers":{"a":{"command":"x"}},"projects":{"/w":{"history":[1,2]}},"z":"é"}';
  const added = server("b", { transport: "stdio", command: "y", args: ["1"] });
  expect(mergeInto("claude-code", line, [added]).text).toBe(
    line.replace('{"command":"x"}}', '{"command":"x"},"b":{"type":"stdio","command":"y","args":["1"]}}'),
  );
  expect(mergeInto("claude-code", line, [{ ...added, project: "/w" }]).text).toBe(
    line.replace(
      '"history":[1,2]',
      '"history":[1,2],"mcpServers":{"b":{"type":"stdio","command":"y","args":["1"]}}',
    ),
  );
  const windows = '\uFEFF{\r\n    "mcpServers": {}\r\n}\r\n';
  expect(mergeInto("cursor", windows, [added]).text).toBe(
    '\uFEFF{\r\n    "mcpServers": {\r\n        "b": {\r\n            "command": "y",\r\n            "args": ["1"]\r\n        }\r\n    }\r\n}\r\n',
  );
});

test("merging: a new transport replaces the settings of the old one", () => {
  const before = `{
  "mcpServers": {
    "x": {
      "command": "npx",
      "args": ["a"],
      "env": { "A": "1" },
      "trust": true
    }
  }
}`;
  const after = mergeInto("gemini", before, [
    server("x", { transport: "sse", url: "https://x.example/sse" }),
  ]).text;
  expect(JSON.parse(after)).toEqual({ mcpServers: { x: { trust: true, url: "https://x.example/sse" } } });
  const again = mergeInto("gemini", after, [
    server("x", { transport: "http", url: "https://x.example/mcp" }),
  ]).text;
  expect(JSON.parse(again)).toEqual({ mcpServers: { x: { trust: true, httpUrl: "https://x.example/mcp" } } });
});

test("merging: corrects an entry with an error, and keeps its unknown keys", () => {
  const before = '{ "mcpServers": { "x": { "comand": "npx", "args": "oops", "note": 1 } } }';
  const after = mergeInto("cursor", before, [server("x", { transport: "stdio", command: "npx" })]).text;
  expect(after).toBe('{ "mcpServers": { "x": { "comand": "npx", "note": 1, "command": "npx" } } }');
});

test("merging: keeps the keys of other clients if the client understands them", () => {
  const before = '{ "mcpServers": { "My Server": { "url": "https://a.example/mcp" } } }';
  const [read] = parseClientFile(before, "/h/.codeium/windsurf/mcp_config.json")?.servers ?? [];
  expect(mergeInto("windsurf", before, read === undefined ? [] : [read]).text).toBe(before);
  const moved = server("My_Server", { transport: "http", url: "https://b.example/mcp" });
  expect(mergeInto("windsurf", before, [moved]).text).toBe(before.replace("a.example", "b.example"));
});

test("merging: writes the format of OpenCode 2", () => {
  const before = '{\n  "mcp": {\n    "timeout": 5,\n    "servers": {}\n  }\n}\n';
  const off = server(
    "a",
    { transport: "stdio", command: "x" },
    { enabled: false, limits: { requestTimeoutMs: 7 } },
  );
  const { text, notes } = mergeInto("opencode", before, [off]);
  expect(notes).toEqual([]);
  expect(JSON.parse(text)).toEqual({
    mcp: {
      timeout: 5,
      servers: { a: { type: "local", command: ["x"], disabled: true, timeout: { request: 7 } } },
    },
  });
  expect(mergeInto("opencode", text, [off]).text).toBe(text);
});

test("merging: renders a new file into an empty text, and refuses a text with syntax errors", () => {
  expect(mergeInto("cursor", " \n", [files]).text).toBe(renderFor("cursor", [files]).text);
  for (const [client, text] of [
    ["cursor", '{ "mcpServers": { '],
    ["cursor", "[]"],
    ["codex", "[mcp_servers"],
    ["axle", "services: [\n"],
  ] as const) {
    let thrown: unknown;
    try {
      mergeInto(client, text, [files], { file: "/w/x" });
    } catch (error) {
      thrown = error;
    }
    expect(isPortolanError(thrown) && thrown.code).toBe("FILE_INVALID");
  }
});
