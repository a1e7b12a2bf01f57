import fc from "fast-check";
import { expect, test } from "vitest";
import { looksLikeWorkspace, parseWorkspace } from "./read.ts";

const FILE = "portolan.yaml";

function problems(text: string): string[] {
  return parseWorkspace(text, FILE).diagnostics.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  );
}

test("reads every key of a workspace", () => {
  const text = `version: 1
sources: [extensions/*/manifest.yaml, .mcp.json]
naming: "{alias}__{tool}"
description_prefix: true
env_file: .env
defaults:
  start: lazy
  idle_stop: 10m
  era: auto
  timeouts: {start: 20, request: 30s, max: 1h}
servers:
  files: # local
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem", .]
    idle_stop: 0
  search:
    url: https://example.com/mcp
    headers: {Authorization: "Bearer \${TOKEN}"}
  live: {url: "wss://example.com/mcp"}
  old: {url: "https://example.com/sse", transport: sse}
enabled_servers: [files, other]
`;
  const origin = (line: number) => ({ file: FILE, line, column: 3, format: "workspace" });
  expect(parseWorkspace(text, FILE)).toEqual({
    servers: [
      {
        alias: "files",
        origin: origin(12),
        endpoint: {
          transport: "stdio",
          command: "npx",
          args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
        },
        enabled: true,
        idleStopMs: 0,
      },
      {
        alias: "search",
        origin: origin(16),
        endpoint: {
          transport: "http",
          url: "https://example.com/mcp",
          headers: { Authorization: "Bearer ${TOKEN}" },
        },
        enabled: true,
      },
      {
        alias: "live",
        origin: origin(19),
        endpoint: { transport: "websocket", url: "wss://example.com/mcp" },
        enabled: true,
      },
      {
        alias: "old",
        origin: origin(20),
        endpoint: { transport: "sse", url: "https://example.com/sse" },
        enabled: true,
      },
    ],
    settings: {
      sources: [
        { text: "extensions/*/manifest.yaml", line: 2, column: 11, path: ["sources", 0] },
        { text: ".mcp.json", line: 2, column: 39, path: ["sources", 1] },
      ],
      naming: "{alias}__{tool}",
      descriptionPrefix: true,
      envFile: ".env",
      defaults: {
        start: "lazy",
        idleStopMs: 600_000,
        era: "auto",
        limits: { startTimeoutMs: 20_000, requestTimeoutMs: 30_000, maxRequestMs: 3_600_000 },
      },
      enabledServers: [
        { text: "files", line: 21, column: 19, path: ["enabled_servers", 0] },
        { text: "other", line: 21, column: 26, path: ["enabled_servers", 1] },
      ],
    },
    diagnostics: [],
  });
});

test("an empty file sets nothing", () => {
  for (const text of ["", "# nothing yet\n", "version: 1\n", "servers:\n", "servers: {}\n"])
    expect(parseWorkspace(text, FILE)).toMatchObject({
      servers: [],
      settings: { defaults: {} },
      diagnostics: [],
    });
  expect(parseWorkspace("sources: []", FILE).settings.sources).toEqual([]);
  expect(parseWorkspace("sources: mcp.json", FILE).settings.sources).toMatchObject([{ text: "mcp.json" }]);
});

test.each([
  ["version: 2", '1:10 version must be 1, not "2"'],
  ["srevers: {}", '1:1 unknown key "srevers"'],
  ["servers: []", "1:10 servers must be an object with keys, not a list"],
  ["servers:\n  a b: {command: x}", '2:3 alias "a b" contains characters that tool names cannot have'],
  ["servers:\n  a:\n    enabled: true", "2:3 servers.a has neither command nor url"],
  ["servers:\n  a: {}", "2:3 servers.a has neither command nor url"],
  ["servers:\n  a:\n    comand: node", '3:5 unknown key "comand" in servers.a'],
  ["servers:\n  a: {ulr: 'http://x/'}", '2:7 unknown key "ulr" in servers.a'],
  ["servers:\n  a:", "2:5 servers.a must be an object with keys, not nothing"],
  ["servers:\n  a: npx", "2:6 servers.a must be an object with keys, not text"],
  [
    "servers:\n  a: {command: x, url: 'http://x/'}",
    "2:19 url is not allowed here: transport stdio needs a command",
  ],
  ["servers:\n  a: {url: x}", "2:12 url is not a URL"],
  ["servers:\n  a: {alias: a, command: x}", '2:7 unknown key "alias" in servers.a'],
  [
    "servers:\n  a: {command: x}\n  a: {command: y}",
    '3:3 the key "a" is declared twice: first at line 2, column 3',
  ],
  ["naming: '{alias}'", "1:9 naming must contain {tool}"],
  ["defaults: {start: never}", '1:19 defaults.start cannot be "never"'],
  ["defaults: {command: x}", '1:12 unknown key "command" in defaults'],
  ["sources: [1]", "1:11 sources[0] must be text, not the number 1"],
])("reports %j with its position", (text, expected) => {
  expect(problems(text)).toEqual([expected]);
});

test("the hint about the unknown key mcpfile says where the file belongs", () => {
  const { diagnostics } = parseWorkspace("servers: { a: { mcpfile: ./mcpfile.yaml } }", FILE);
  const found = diagnostics.find(({ message }) => message.includes('unknown key "mcpfile"'));
  expect(found?.hint).toContain("as a server of its own");
});

test("accepts a naming pattern without {alias}", () => {
  expect(problems('naming: "{tool}"')).toEqual([]);
});

test.each([
  [{ servers: {} }, true],
  [{ version: 1, sources: [] }, true],
  [{ version: 1, gateway: {} }, true],
  [{ version: 1 }, false],
  [{ servers: [] }, false],
  [[], false],
])("%j looks like a workspace: %s", (value, expected) => {
  expect(looksLikeWorkspace(value)).toBe(expected);
});

test("the parser never throws", () => {
  const line = fc.constantFrom(
    "servers:",
    "  a: {command: x}",
    "  b:",
    "    url: 1",
    "    headers: {__proto__: 1}",
    "  toString: {command: x}",
    "sources: [a, {b: c}]",
    "enabled_servers: *x",
    "defaults: &x []",
    "naming: {}",
    "version: '1'",
    "- [",
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      parseWorkspace(lines.join("\n"), FILE);
    }),
    { numRuns: 1_000 },
  );
});
