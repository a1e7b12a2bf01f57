// A gateway as one would write it with the official SDK, version 2: `node sdk-v2-bridge.mjs '{"port", "upstreams", "modules"}'`.
//
// Modern requests go through createMcpHandler, which is the SDK's way: a server object per request. Legacy clients get
// a session with a server object of its own and JSON answers, which is faster than the SDK's stateless way.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { port, upstreams, modules } = JSON.parse(process.argv[2]);
const load = (file) => import(pathToFileURL(join(modules, "@modelcontextprotocol", file)));
const { Server, createMcpHandler } = await load("server/dist/index.mjs");
const { NodeStreamableHTTPServerTransport, toNodeHandler } = await load("node/dist/index.mjs");
const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
const { StdioClientTransport } = await load("client/dist/stdio.mjs");

const INFO = { name: "sdk-v2-bridge", version: "1.0.0" };
const [{ client, tools }] = await Promise.all(upstreams.map(connect));
const serveModern = toNodeHandler(createMcpHandler(createBridge, { legacy: "reject" }));
const sessions = new Map();

createServer((request, response) => {
  const { "mcp-protocol-version": version, "mcp-session-id": session } = request.headers;
  if (version === "2026-07-28") void serveModern(request, response);
  else void serveLegacy(session, request, response);
}).listen(port, "127.0.0.1");

async function serveLegacy(session, request, response) {
  const transport = sessions.get(session) ?? (await openSession());
  await transport.handleRequest(request, response);
}

async function openSession() {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await createBridge().connect(transport);
  return transport;
}

function createBridge() {
  const server = new Server(INFO, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => tools);
  server.setRequestHandler("tools/call", ({ params }) =>
    client.callTool({ name: params.name, arguments: params.arguments }),
  );
  return server;
}

async function connect({ url, command, args }) {
  const upstream = new Client(INFO, { versionNegotiation: { mode: "legacy" } });
  await upstream.connect(
    url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }),
  );
  return { client: upstream, tools: await upstream.listTools() };
}
