// A small HTTP server for tests that need one odd route: everything else about it is healthy.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpConnection, McpOptions } from "../../src/index.ts";
import { connectUrl, type FixtureEra, started } from "./connect.ts";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: number | undefined;
  readonly params: Record<string, unknown>;
  readonly json: (result: unknown, headers?: Record<string, string>) => void;
  /** Any JSON-RPC message for this request. */
  readonly reply: (message: object, status?: number) => void;
  /** Opens an event stream and writes these messages to it. */
  readonly stream: (...messages: object[]) => void;
}

export type Routes = Record<string, (exchange: Exchange) => unknown>;

export interface RouteServer {
  readonly url: string;
  readonly seen: { name: string; headers: IncomingHttpHeaders }[];
  count(name: string): number;
  connections(): Promise<number>;
  close(): Promise<void>;
}

export const INITIALIZE: Readonly<Record<string, unknown>> = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, resources: { subscribe: true } },
  serverInfo: { name: "x", version: "1" },
};
export const DISCOVER: Readonly<Record<string, unknown>> = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
};
export const TOOLS: { tools: object[]; ttlMs: number } = {
  tools: [{ name: "t", inputSchema: { type: "object" } }],
  ttlMs: 3_600_000,
};

/** A healthy server with one tool, `t`, except for these routes: JSON-RPC methods, or GET and DELETE. */
export async function serve(era: FixtureEra, routes: Routes): Promise<RouteServer> {
  let sessions = 0;
  const healthy: Routes = {
    GET: ({ response }) => response.writeHead(405).end(),
    DELETE: ({ response }) => response.writeHead(200).end(),
    "server/discover": ({ json, response }) =>
      era === "modern" ? json(DISCOVER) : response.writeHead(400).end("?"),
    initialize: ({ json }) => json(INITIALIZE, { "mcp-session-id": `s${(sessions += 1)}` }),
    "tools/list": ({ json }) => json(TOOLS),
  };
  const seen: RouteServer["seen"] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const message = (body === "" ? {} : JSON.parse(body)) as Partial<Exchange> & { method?: string };
    const { id, params = {} } = message;
    const name = request.method === "POST" ? (message.method ?? "answer") : String(request.method);
    seen.push({ name, headers: request.headers });
    const reply = (part: object, status = 200, headers = {}): void => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...part }));
    };
    const exchange: Exchange = {
      request,
      response,
      id,
      params,
      json: (result, headers) => reply({ result }, 200, headers),
      reply,
      stream: (...messages) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        for (const one of messages) response.write(event(one));
      },
    };
    const route = routes[name] ?? healthy[name];
    if (route !== undefined) route(exchange);
    else if (id === undefined || name === "answer") response.writeHead(202).end();
    else exchange.json({ content: [] });
  };
  const server = createServer((request, response) => void listener(request, response).catch(() => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return started(
    Promise.resolve({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
      seen,
      count: (name: string) => seen.filter((one) => one.name === name).length,
      connections: () =>
        new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    }),
  );
}

export const event = (message: object): string =>
  `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

/** A connection to a server of these routes. */
export async function connectTo(
  era: FixtureEra,
  routes: Routes,
  options: McpOptions = {},
): Promise<{ server: RouteServer; mcp: McpConnection }> {
  const server = await serve(era, routes);
  return { server, mcp: await connectUrl(server.url, options) };
}
