import { expect, test } from "vitest";
import type { ServerConfig, Endpoint } from "../../model/index.ts";
import { ownGateway } from "./own-gateway.ts";

const own = { host: "127.0.0.1", port: 7420, script: "/opt/portolan/dist/cli/main.js" };
const server = (endpoint: Endpoint): ServerConfig => ({
  alias: "a",
  enabled: true,
  origin: { file: "mcp.json", line: 1, column: 1, format: "cursor" },
  endpoint,
});
const url = (text: string): ServerConfig => server({ transport: "http", url: text });
const run = (...[command = "", ...args]: string[]): ServerConfig =>
  server({ transport: "stdio", command, args });

test.each([
  url("http://127.0.0.1:7420/mcp"),
  url("http://localhost:7420/servers/x/mcp"),
  url("http://[::1]:7420/sse"),
  run("portolan", "serve"),
  run("/usr/local/bin/portolan", "--quiet", "serve", "--stdio"),
  run("npx", "-y", "portolan@0.1.0", "serve", "--stdio"),
  run("portolan.cmd", "serve"),
  run("node", "/opt/portolan/dist/cli/main.js", "serve"),
  run("node", "/elsewhere/node_modules/portolan/dist/cli/main.js", "serve"),
])("ownGateway recognises the gateway itself: $endpoint", (declared) => {
  expect(ownGateway(declared, own)).toBeDefined();
});

test.each([
  url("http://127.0.0.1:7421/mcp"),
  url("https://mcp.example.com:7420/mcp"),
  url("${BASE}/mcp"),
  run("portolan", "call", "serve"),
  run("npx", "-y", "portolan-tools", "serve"),
  run("node", "server.js", "serve"),
  run("uvx", "serve"),
])("ownGateway does not recognise another server: $endpoint", (declared) => {
  expect(ownGateway(declared, own)).toBeUndefined();
});

test("a gateway on 0.0.0.0 is recognised at localhost and at its allowed hosts", () => {
  const everywhere = { host: "0.0.0.0", port: 8443, allowedHosts: ["tools.example.com", "*.example.org"] };
  expect(ownGateway(url("http://localhost:8443/mcp"), everywhere)).toBeDefined();
  expect(ownGateway(url("https://tools.example.com/mcp"), everywhere)).toBeDefined();
  expect(ownGateway(url("https://tools.example.com:9000/mcp"), everywhere)).toBeUndefined();
});

test("with port 0, no URL is recognised as the gateway itself", () => {
  expect(ownGateway(url("http://127.0.0.1/mcp"), { host: "127.0.0.1", port: 0 })).toBeUndefined();
});
