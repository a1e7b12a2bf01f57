import { expect, test } from "vitest";
import { addServer, parseWorkspace } from "../formats/workspace/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import { toServerFields } from "./server-fields.ts";

const origin = { file: "/home/me/project/.cursor/mcp.json", line: 1, column: 1, format: "cursor" };

test.each<DeclaredServer>([
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
    lanes: 3,
  },
  { alias: "c", origin, enabled: true, endpoint: { transport: "http", url: "https://x.example/mcp" } },
  {
    alias: "d",
    origin,
    enabled: true,
    endpoint: { transport: "sse", url: "https://x.example/sse", headers: { A: "${B}" } },
  },
  { alias: "e", origin, enabled: true, endpoint: { transport: "websocket", url: "wss://x.example" } },
  { alias: "f", origin, enabled: true, endpoint: { transport: "websocket", url: "${BASE}/ws" } },
])("$alias comes back from portolan.yaml as it was", (server) => {
  const { servers, diagnostics } = parseWorkspace(
    addServer(undefined, server.alias, toServerFields(server)),
    "portolan.yaml",
  );
  expect(diagnostics).toEqual([]);
  const { origin: _, ...read } = servers[0] as DeclaredServer;
  const { origin: __, ...wanted } = server;
  expect(JSON.parse(JSON.stringify(read))).toEqual(wanted);
});

test("a relative folder is taken from the project that the file speaks for", () => {
  const endpoint = { transport: "stdio", command: "x", cwd: "tools" } as const;
  const server = { alias: "a", origin, enabled: true, endpoint };
  expect(toServerFields(server).cwd).toBe("/home/me/project/tools");
  expect(toServerFields({ ...server, endpoint: { ...endpoint, cwd: "~/x" } }).cwd).toBe("~/x");
});
