import { expect, test } from "vitest";
import { addServer, parseWorkspace } from "../../formats/workspace/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { toServerFields } from "./server-fields.ts";

const origin = { file: "/home/me/project/.cursor/mcp.json", line: 1, column: 1, format: "cursor" };

test.each<ServerConfig>([
  { alias: "a", origin, enabled: true, endpoint: { transport: "stdio", command: "x" } },
  {
    alias: "b",
    origin,
    enabled: false,
    endpoint: { transport: "stdio", command: "x", args: ["1", "${A}"], env: { B: "true" }, cwd: "/srv" },
    era: "legacy",
    start: "lazy",
    idleStopMs: 90_000,
    limits: { startTimeoutMs: 1_500, requestTimeoutMs: 120_000, maxRequestMs: 5_000, maxMessageBytes: 99 },
    allowTools: ["read_*"],
    blockTools: ["read_all"],
    descriptionPrefix: "[x]",
    resourceTools: true,
    promptTools: false,
    context: [{ uri: "file:///*", maxBytes: 7 }],
    tags: ["t"],
    maxResultBytes: 0,
    shared: false,
    lanes: 3,
  },
  { alias: "c", origin, enabled: true, endpoint: { transport: "http", url: "https://x.example/mcp" } },
  {
    alias: "d",
    origin,
    enabled: true,
    endpoint: { transport: "sse", url: "https://x.example/sse", headers: { A: "${B}" } },
  },
  {
    alias: "g",
    origin,
    enabled: true,
    endpoint: { transport: "stdio", command: "x" },
    launch: {
      sandbox: {
        mode: "warn",
        backend: "bubblewrap",
        network: ["a.com", "*.b.com", "c.com:22"],
        fs: { read: ["/srv/data"], write: ["~/notes"], deny: ["/srv/data/x"] },
        env: { pass: ["LANG"], set: { A: "1" } },
        exec: { allow: ["git", "/opt/tool"], spawn: false },
        home: "kept",
        limits: {
          memoryBytes: 536_870_912,
          processes: 64,
          openFiles: 256,
          cpuSeconds: 60,
          fileBytes: 1_001,
          niceness: 3,
        },
        pathArguments: { "*": ["uri"] },
      },
      install: [
        { method: "npm", package: "a@1", global: true },
        { method: "download", url: "https://a.com/x.tgz", extractBin: "x", sha256: "a".repeat(64) },
        { method: "vendored", path: "/opt/x" },
      ],
      versionCheck: { command: "x -V", parse: "(.*)", range: "^1", timeoutMs: 1_500 },
      requires: { os: ["linux"], arch: ["x64"] },
    },
  },
  {
    alias: "h",
    origin,
    enabled: true,
    endpoint: { transport: "stdio", command: "x" },
    launch: { sandbox: { mode: "off" } },
  },
  {
    alias: "i",
    origin,
    enabled: true,
    endpoint: {
      transport: "http",
      url: "http://127.0.0.1:0/v1",
      headers: { A: "b" },
      program: {
        kind: "image",
        image: "acme/mcp",
        args: ["serve"],
        env: { T: "${T}" },
        port: 8080,
      },
    },
  },
  { alias: "e", origin, enabled: true, endpoint: { transport: "websocket", url: "wss://x.example" } },
  { alias: "f", origin, enabled: true, endpoint: { transport: "websocket", url: "${BASE}/ws" } },
])("the server $alias is written to portolan.yaml and read back unchanged", (server) => {
  const { servers, diagnostics } = parseWorkspace(
    addServer(undefined, server.alias, toServerFields(server)),
    "portolan.yaml",
  );
  expect(diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  const { origin: _, ...read } = servers[0] as ServerConfig;
  const { origin: __, ...wanted } = server;
  expect(JSON.parse(JSON.stringify(read))).toEqual(wanted);
});

test("a relative cwd is resolved from the project of the config file", () => {
  const endpoint = { transport: "stdio", command: "x", cwd: "tools" } as const;
  const server = { alias: "a", origin, enabled: true, endpoint };
  expect(toServerFields(server).cwd).toBe("/home/me/project/tools");
  expect(toServerFields({ ...server, endpoint: { ...endpoint, cwd: "~/x" } }).cwd).toBe("~/x");
});
