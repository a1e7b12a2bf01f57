import { expect, test } from "vitest";
import { parseClientFile } from "./parse.ts";
import type { ClientFile, ClientId } from "./types.ts";

const context = { home: "/home/me", cwd: "/w", platform: "linux" } as const;

function read(text: string, client: ClientId = "claude-code"): ClientFile {
  const found = parseClientFile(text, "/w/servers.json", client, context);
  if (found === undefined) throw new Error("not taken for a client's file");
  return found;
}

function shown({ diagnostics }: ClientFile): string[] {
  return diagnostics.map(
    ({ line, column, severity, message, hint }) =>
      `${line}:${column} ${severity} ${message}${hint === undefined ? "" : ` | ${hint}`}`,
  );
}

/** A file with one entry, whose first character is in line 1, column 21. */
function entry(json: string): ClientFile {
  return read(`{"mcpServers":{"a":${json}}}`);
}

test.each([
  ['{"url":"https://x/mcp"}', "http"],
  ['{"baseUrl":"https://x/mcp"}', "http"],
  ['{"base_url":"https://x/mcp"}', "http"],
  ['{"serverUrl":"https://x/mcp"}', "http"],
  ['{"server_url":"https://x/mcp"}', "http"],
  ['{"httpUrl ":"https://x/mcp"}', "http"],
  ['{"url":"wss://x/mcp"}', "websocket"],
  ['{"type":"http","url":"https://x/mcp"}', "http"],
  ['{"type":"streamable-http","url":"https://x/mcp"}', "http"],
  ['{"type":"streamableHttp","url":"https://x/mcp"}', "http"],
  ['{"type":"streamable_http","url":"https://x/mcp"}', "http"],
  ['{"transport":"sse","url":"https://x/mcp"}', "sse"],
  ['{"transportType":"ws","url":"ws://x/mcp"}', "websocket"],
  ['{"type":"stdio","command":"x","url":"https://x/mcp"}', "stdio"],
  ['{"type":"http","command":"x","url":"https://x/mcp"}', "http"],
  ['{"command":"x"}', "stdio"],
  ['{"executable":"x"}', "stdio"],
])("the transport of %s is %s", (json, transport) => {
  const found = entry(json);
  expect(found.servers[0]?.endpoint.transport).toBe(transport);
  expect(shown(found)).toEqual([]);
});

test("command can be a string or a list, and args accepts numbers and booleans", () => {
  expect(entry('{"command":["npx","-y"],"args":["x",8080,true]}').servers[0]?.endpoint).toEqual({
    transport: "stdio",
    command: "npx",
    args: ["-y", "x", "8080", "true"],
  });
  expect(entry('{"command":"~/bin/x","args":["~/docs"]}').servers[0]?.endpoint).toEqual({
    transport: "stdio",
    command: "/home/me/bin/x",
    args: ["~/docs"],
  });
});

test.each([
  ['{"command":"x","disabled":true}', false],
  ['{"command":"x","enabled":false}', false],
  ['{"command":"x","enabled":true,"disabled":true}', false],
  ['{"command":"x","disabled":false}', true],
])("%s sets enabled to %s", (json, enabled) => {
  expect(entry(json).servers[0]?.enabled).toBe(enabled);
});

test.each([
  ["{}", "1:16 error the entry has neither a command nor a url | Add one of them."],
  ['{"comand":"x"}', '1:16 error the entry has neither a command nor a url | Did you mean "command"?'],
  ["3", "1:16 error the entry is a number | Make it an object with a command or a url."],
  ['"npx"', "1:16 error the entry is a text | Make it an object with a command or a url."],
  ['{"command":""}', "1:21 error command is an empty text | Make it a text."],
  ['{"command":[]}', "1:21 error command names no program | Name the program to start."],
  ['{"command":{}}', "1:21 error command is an object | Make it a text."],
  [
    '{"command":"x","args":"-y"}',
    '1:35 error args is a text | Make it a list of texts, such as ["-y", "a-package"].',
  ],
  ['{"command":"x","args":["a",{}]}', "1:47 error args[1] is an object | Make it a text."],
  [
    '{"command":"x","env":["A"]}',
    '1:35 error env is a list | Make it names with texts, such as { "NAME": "value" }.',
  ],
  ['{"command":"x","env":{"A":[]}}', "1:42 error env: A is a list, which should be a text"],
  ['{"command":"x","env":{"A=B":"c"}}', "1:42 error env: a name of a variable is empty or contains ="],
  ['{"command":"x","disabled":"yes"}', "1:35 error disabled is a text | Make it true or false."],
  ['{"command":"x","timeout":0}', "1:35 error timeout is a number | Make it a number greater than 0."],
  [
    '{"command":"x","allowedTools":"a"}',
    '1:35 error allowedTools is a text | Make it a list of names, such as ["read_file"].',
  ],
  ['{"type":"htp","url":"https://x"}', '1:21 error type is not a known transport | Did you mean "http"?'],
  [
    '{"type":"carrier pigeon","url":"https://x"}',
    '1:21 error type is not a known transport | Use "stdio", "http", "sse" or "ws".',
  ],
  ['{"type":"http","command":"x"}', "1:21 error url is missing, but type is http | Add url."],
  [
    '{"transport":{"type":"http","url":"https://x"}}',
    '1:21 error transport is an object | Write type, url and the rest side by side, for example "type": "http".',
  ],
  [
    '{"url":"example.com/mcp"}',
    "1:21 error url is not a URL | Write the complete URL, such as https://example.com/mcp.",
  ],
  [
    '{"url":"ftp://x/mcp"}',
    "1:21 error url must start with http:// or https:// | Write a URL such as https://example.com/mcp.",
  ],
  [
    '{"type":"ws","url":"https://x/mcp"}',
    "1:33 error url must start with ws:// or wss:// | Write a URL such as wss://example.com/mcp, or correct type.",
  ],
  ['{"url":"https://x","headers":{"A B":"c"}}', "1:50 error headers: a header has an invalid name"],
  ['{"url":"https://x","headers":{"A":"b\\r\\nc"}}', "1:50 error headers: A contains a line break"],
])("%s: reports the error with its position", (json, finding) => {
  const found = entry(json);
  expect(shown(found)).toEqual([finding]);
  expect(found.servers).toEqual([]);
});

test("reports all errors of an entry, and still reads the other entries", () => {
  const found = read(`{
  "mcpServers": {
    "bad": { "command": 1, "args": {}, "env": { "A": {} }, "enabled": "no" },
    "good": { "command": "x" }
  }
}`);
  expect(found.servers.map(({ alias }) => alias)).toEqual(["good"]);
  expect(shown(found)).toEqual([
    "3:14 error command is a number | Make it a text.",
    '3:28 error args is an object | Make it a list of texts, such as ["-y", "a-package"].',
    "3:49 error env: A is an object, which should be a text",
    "3:60 error enabled is a text | Make it true or false.",
  ]);
  expect(found.diagnostics.map(({ server, path }) => [server, path])).toEqual([
    ["bad", "/mcpServers/bad/command"],
    ["bad", "/mcpServers/bad/args"],
    ["bad", "/mcpServers/bad/env/A"],
    ["bad", "/mcpServers/bad/enabled"],
  ]);
});

test.each([
  [
    '{"command":"npx -y thing"}',
    "1:21 warning command contains a program and its arguments | Put the arguments into args, one by one.",
  ],
  [
    '{"command":"x","url":"https://x"}',
    '1:35 warning the entry has both command and url; Portolan uses command | Add "type" to choose one of them.',
  ],
  [
    '{"url":"https://x","serverUrl":"https://y"}',
    "1:39 warning serverUrl and url are the same setting; Portolan uses url | Keep one of them.",
  ],
  [
    '{"command":"x","env":{"A":"a$${B}"}}',
    "1:42 warning a $ directly before a reference makes the reference plain text | Put the $ elsewhere.",
  ],
])("reads %s with a warning", (json, finding) => {
  const found = entry(json);
  expect(shown(found)).toEqual([finding]);
  expect(found.servers).toHaveLength(1);
});

test("after a syntax error, reads only the servers before it", () => {
  const found = read(`{
  "mcpServers": {
    "one": { "command": "x" },
    "two": { "command": "y" "args": ["z"] },
    "three": { "command": "z" }
  }
}`);
  expect(found.servers.map(({ alias }) => alias)).toEqual(["one"]);
  expect(shown(found)).toEqual([
    "4:29 error not valid JSON: a comma is expected here | Portolan does not read the servers after this place.",
  ]);
});

test("keeps valid names, replaces invalid characters, and keeps all aliases unique", () => {
  const found = read(`{ "mcpServers": {
  "a b": { "command": "1" },
  "a_b": { "command": "2" },
  "@scope/pkg": { "command": "3" },
  "日本": { "command": "4" },
  "-x": { "command": "5" },
  "": { "command": "6" },
  "${"n".repeat(60)}": { "command": "7" }
} }`);
  expect(found.servers.map(({ alias, name }) => [alias, name.slice(0, 12)])).toEqual([
    [expect.stringMatching(/^a_b_[0-9a-f]{8}$/), "a b"],
    ["a_b", "a_b"],
    ["scope_pkg", "@scope/pkg"],
    [expect.stringMatching(/^server_[0-9a-f]{8}$/), "日本"],
    ["x", "-x"],
    [expect.stringMatching(/^n{31}_[0-9a-f]{8}$/), "nnnnnnnnnnnn"],
  ]);
  expect(shown(found).filter((line) => line.includes("error"))).toEqual([
    "7:3 error the server has no name | Give it one.",
  ]);
  expect(new Set(found.servers.map(({ alias }) => alias)).size).toBe(6);
});

test("if a name occurs twice, uses the last entry, as the client does", () => {
  const found = read('{"mcpServers":{"a":{"command":"1"},"a":{"command":"2"}}}');
  expect(found.servers.map(({ endpoint }) => endpoint)).toEqual([{ transport: "stdio", command: "2" }]);
  expect(shown(found)).toEqual([
    '1:36 warning "a" is declared more than once; Portolan uses the last declaration | Give each server its own name.',
  ]);
});

test("treats __proto__ and constructor as plain names", () => {
  const found = read(
    '{"mcpServers":{"__proto__":{"command":"x","env":{"__proto__":"y"}},"constructor":{"command":"z"}}}',
  );
  expect(found.servers.map(({ alias }) => alias)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(found.servers[0]?.endpoint)).toBe(Object.prototype);
});

test("warns about trailing commas and comments in the file of Claude Desktop, which ignores such a file", () => {
  const text = '{\n  "mcpServers": {\n    "a": { "command": "x" }, // note\n  },\n}\n';
  const warning =
    "3:30 warning Claude Desktop reads strict JSON and ignores a file with comments or trailing commas | Remove them.";
  expect(shown(read(text, "claude-desktop"))).toEqual([warning]);
  expect(shown(read(text, "cursor"))).toEqual([]);
});

test("a byte order mark does not change positions", () => {
  const found = read('\uFEFF{"mcpServers":{"a":3}}');
  expect(shown(found)[0]).toMatch(/^1:16 /);
});

test("reports plain-text secrets by name, never by value", () => {
  const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const found = read(
    JSON.stringify(
      {
        mcpServers: {
          a: {
            command: "x",
            args: ["--api-key", secret, `--token=${secret}`, "--verbose"],
            env: {
              GITHUB_TOKEN: secret,
              GITHUB_PERSONAL_ACCESS_TOKEN: secret,
              apiKey: secret,
              LOG: secret,
              API_KEY: "${API_KEY}",
              TOKEN_FILE: "/run/secret",
            },
          },
          b: {
            url: `https://me:${secret}@x.example/mcp?apiKey=${secret}&page=2`,
            headers: { Authorization: `Bearer ${secret}`, "X-Trace": secret },
          },
          c: {
            command: "y",
            env: { API_KEY: "<your-api-key>", KEY: "YOUR_API_KEY", AUTH: "true", MONKEY: secret },
          },
        },
      },
      null,
      1,
    ),
  );
  expect(found.diagnostics.map(({ severity, literalSecret }) => `${severity} ${literalSecret}`)).toEqual([
    "info --api-key",
    "info --token",
    "info GITHUB_TOKEN",
    "info GITHUB_PERSONAL_ACCESS_TOKEN",
    "info apiKey",
    "info apiKey",
    "info password",
    "info Authorization",
  ]);
  expect(found.diagnostics.map(({ line }) => line)).toEqual([7, 8, 12, 13, 14, 21, 21, 23]);
  expect(JSON.stringify(found.diagnostics)).not.toContain(secret);
});

test("reports a syntax error once, with the same message as for other files", () => {
  const told = (text: string, client: "claude-code" | "axle"): string[] =>
    read(text, client).diagnostics.map(({ message }) => message);
  expect(told('{"mcpServers": {"a": {"command": "x",, }}}', "claude-code")).toEqual([
    "not valid JSON: a key in double quotes is expected here",
  ]);
  expect(told("services:\n  mcp:\n  - {name: [\n", "axle")).toEqual([
    expect.stringMatching(/^not valid YAML: /),
  ]);
});

test("diagnostics never repeat values of the file", () => {
  const secret = "s3cr3t-value-nobody-may-see";
  const texts = [
    `{"mcpServers":{"a":{"command":["${secret}"`,
    `{"mcpServers":{"a":{"url":"${secret}","type":"${secret}","headers":{"A":"${secret}\\n"},"env":"${secret}"}}}`,
    `{"mcpServers":{"a":{"url":"${secret}","bearer_token_env_var":"${secret} "}}}`,
    `{"mcpServers":{"a":"${secret}"}}`,
    `[mcp_servers.a]\nurl = "${secret}`,
    `services:\n  mcp:\n  - "${secret}\n`,
    `services: *${secret.replaceAll("-", "")}`,
    secret,
  ];
  for (const text of texts)
    for (const client of ["claude-code", "codex", "axle", "opencode", "vscode"] as const)
      expect(JSON.stringify(read(text, client).diagnostics)).not.toContain(secret.slice(0, 6));
});
