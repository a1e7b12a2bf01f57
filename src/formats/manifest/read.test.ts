import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerConfig } from "../../model/index.ts";
import { looksLikeManifest, parseManifest } from "./read.ts";

/** The original example of a manifest, unchanged. */
const SEED = `# sandbox/extensions/mcp/manifest.yaml

id: mcp
name: MCP Bridge
version: "1.0.0"
description: >
  Connects to MCP servers and exposes their tools to the agent.
  Supports stdio, SSE, and Streamable HTTP transports.

entrypoint: main:McpBridgeExtension

depends_on: []

config:
  servers:
    - alias: web_search
      transport: streamable-http
      url: http://localhost:8000/mcp

    - alias: filesystem
      transport: stdio
      command: npx
      args: ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/allowed/dir"]

    - alias: github
      transport: sse
      url: https://api.example.com/mcp
      headers:
        Authorization: "Bearer \${GITHUB_TOKEN}"  # resolved from secrets

enabled: true
`;

const FULL = `id: mcp
name: MCP Bridge
version: "1.0.0"
description: >
  Connects to MCP servers and exposes their tools to the agent.
  Use when you need: web search, file access, GitHub, databases, etc.
  Configure servers in config.servers.

entrypoint: main:McpBridgeExtension

depends_on: []

config:
  servers: []

setup_instructions: |
  Add MCP servers to config.servers in manifest.yaml.
  Example (stdio): alias, transport: stdio, command, args.
  Example (HTTP): alias, transport: streamable-http, url.
  Use \${SECRET_NAME} in url/headers/env to inject secrets.

enabled: true
`;

/** A manifest with these lines as its servers; the first one is in line 3. */
function servers(...lines: string[]): string {
  return ["config:", "  servers:", ...lines.map((line) => `    ${line}`)].join("\n");
}

function first(text: string): ServerConfig | undefined {
  const { servers: found, diagnostics } = parseManifest(text, "m.yaml");
  expect(diagnostics).toEqual([]);
  return found[0];
}

describe("the original example manifests", () => {
  test("give the three servers and the settings", () => {
    const origin = (line: number) => ({ file: "manifest.yaml", line, column: 7, format: "manifest" });
    expect(parseManifest(SEED, "manifest.yaml")).toEqual({
      servers: [
        {
          alias: "web_search",
          origin: origin(16),
          endpoint: { transport: "http", url: "http://localhost:8000/mcp" },
          enabled: true,
        },
        {
          alias: "filesystem",
          origin: origin(20),
          endpoint: {
            transport: "stdio",
            command: "npx",
            args: ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/allowed/dir"],
          },
          enabled: true,
        },
        {
          alias: "github",
          origin: origin(25),
          endpoint: {
            transport: "sse",
            url: "https://api.example.com/mcp",
            headers: { Authorization: "Bearer ${GITHUB_TOKEN}" },
          },
          enabled: true,
        },
      ],
      settings: {
        id: "mcp",
        name: "MCP Bridge",
        version: "1.0.0",
        description:
          "Connects to MCP servers and exposes their tools to the agent. Supports stdio, SSE, and Streamable HTTP transports.\n",
        entrypoint: "main:McpBridgeExtension",
        dependsOn: [],
        enabled: true,
      },
      diagnostics: [],
    });
  });

  test("have no problems if they contain no servers", () => {
    const { servers: found, settings, diagnostics } = parseManifest(FULL, "manifest.yaml");
    expect(found).toEqual([]);
    expect(diagnostics).toEqual([]);
    expect(settings.setupInstructions).toContain("Use ${SECRET_NAME} in url/headers/env");
  });
});

describe("fields of a manifest", () => {
  test("every field of a server is read", () => {
    const text = `config:
  naming: "{alias}-{tool}"
  description_prefix: true
  start: lazy
  timeouts: {start: 5, request: 10s}
  servers:
    - alias: all
      transport: stdio
      command: node
      args: [server.js, 8080, ""]
      env: {PORT: 8080, DEBUG: true, TOKEN: "\${TOKEN}"}
      cwd: ./sub
      enabled: false
      era: modern
      start: eager
      idle_stop: 5m
      tool_allowlist: [read_*]
      tool_blocklist: [read_secret]
      description_prefix: "[files]"
      timeouts: {request: 500ms, max: 2m}
      resources_as_tools: true
      prompts_as_tools: false
      context:
        - uri: file:///notes/*
        - {uri: "memo://today", max_bytes: 100}
      tags: [local, 1]
      max_message_bytes: 1000000
    - alias: ws
      transport: websocket
      url: wss://example.com/mcp
    - {alias: short, transport: http, url: "https://example.com/mcp"}
`;
    const result = parseManifest(text, "m.yaml");
    expect(result.diagnostics).toEqual([]);
    expect(result.settings.naming).toBe("{alias}-{tool}");
    const defaults = {
      start: "lazy",
      descriptionPrefix: true,
      limits: { startTimeoutMs: 5_000, requestTimeoutMs: 10_000 },
    };
    expect(result.servers).toEqual([
      {
        alias: "all",
        origin: { file: "m.yaml", line: 7, column: 7, format: "manifest" },
        endpoint: {
          transport: "stdio",
          command: "node",
          args: ["server.js", "8080", ""],
          env: { PORT: "8080", DEBUG: "true", TOKEN: "${TOKEN}" },
          cwd: "./sub",
        },
        enabled: false,
        era: "modern",
        start: "eager",
        idleStopMs: 300_000,
        allowTools: ["read_*"],
        blockTools: ["read_secret"],
        descriptionPrefix: "[files]",
        limits: {
          startTimeoutMs: 5_000,
          requestTimeoutMs: 500,
          maxRequestMs: 120_000,
          maxMessageBytes: 1_000_000,
        },
        resourceTools: true,
        promptTools: false,
        context: [
          { uri: "file:///notes/*", maxBytes: 65_536 },
          { uri: "memo://today", maxBytes: 100 },
        ],
        tags: ["local", "1"],
      },
      {
        alias: "ws",
        origin: { file: "m.yaml", line: 28, column: 7, format: "manifest" },
        endpoint: { transport: "websocket", url: "wss://example.com/mcp" },
        enabled: true,
        ...defaults,
      },
      {
        alias: "short",
        origin: { file: "m.yaml", line: 31, column: 7, format: "manifest" },
        endpoint: { transport: "http", url: "https://example.com/mcp" },
        enabled: true,
        ...defaults,
      },
    ]);
  });

  test("enabled: false and enabled_servers disable servers", () => {
    const list =
      "{config: {servers: [{alias: a, transport: stdio, command: x}, {alias: b, transport: stdio, command: x}]";
    const enabled = (text: string): boolean[] =>
      parseManifest(text, "m.yaml").servers.map((server) => server.enabled);
    expect(enabled(`${list}}}`)).toEqual([true, true]);
    expect(enabled(`${list}}, enabled: false}`)).toEqual([false, false]);
    expect(enabled(`${list}, enabled_servers: [b]}}`)).toEqual([false, true]);
    expect(enabled(`${list}, enabled_servers: []}}`)).toEqual([false, false]);
  });

  test("a manifest in JSON is read", () => {
    const text = '{"config": {"servers": [{"alias": "a", "transport": "sse", "url": "http://x/"}]}}';
    expect(parseManifest(text, "m.json").servers).toMatchObject([
      { alias: "a", origin: { line: 1, column: 25 }, endpoint: { transport: "sse", url: "http://x/" } },
    ]);
  });

  test.each([
    "${BASE}/mcp",
    "${URL}",
    "http://${HOST}:${PORT}/mcp",
    "https://api.${TLD}/x?key=${KEY:-none}",
    "https://user:${PASS}@example.com/",
  ])("the parts of the URL %s outside of its references are checked", (url) => {
    expect(first(servers("- alias: a", "  transport: http", `  url: "${url}"`))?.endpoint).toMatchObject({
      url,
    });
  });

  test("YAML anchors and unknown keys with x- can be used to avoid repetition", () => {
    const text = `x-env: &env {A: 1}\nconfig:\n  servers:\n    - {alias: a, transport: stdio, command: x, env: *env}`;
    expect(first(text)?.endpoint).toMatchObject({ env: { A: "1" } });
  });
});

test.each([
  [{ config: { servers: [] } }, true],
  [{ config: { enabled_servers: [] } }, true],
  [{ apiVersion: "v1", kind: "Pod" }, false],
  [{ id: "x", entrypoint: "main:X", config: { key: 1 } }, false],
  [{ servers: {} }, false],
  [null, false],
  ["config", false],
])("%j looks like a manifest: %s", (value, expected) => {
  expect(looksLikeManifest(value)).toBe(expected);
});

test("the parser never throws", () => {
  const line = fc.constantFrom(
    "config:",
    "  servers:",
    "    - alias: a",
    "      transport: stdio",
    "      transport: sse",
    "      command: x",
    "      url: ${X}",
    "      env: &e {A: *e}",
    "      args: [1, {a: 2}]",
    "      context: [{uri: 1}]",
    "      timeouts: 5",
    "  naming: '{'",
    "  enabled_servers: [a, 1]",
    "\t- x",
    "? [a]",
    "<<: *a",
    "&a a: b: c",
    "enabled: maybe",
    "---",
    "null",
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 15 }), fc.constantFrom("m.yaml", "m.json"), (lines, file) => {
      const result = parseManifest(lines.join("\n"), file);
      for (const server of result.servers) expect(server.alias).toMatch(/^[A-Za-z0-9_-]+$/);
    }),
    { numRuns: 2_000 },
  );
});
