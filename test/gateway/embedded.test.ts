// The gateway in another program: under a path of a Node server, and behind the Fetch API.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { type Gateway, type GatewayOptions, openGateway } from "../../src/gateway/index.ts";
import { openGateway as openInProgram } from "../../src/gateway.ts";
import { connectMcp, type Diagnostic } from "../../src/index.ts";
import type { GatewaySettings } from "../../src/model/index.ts";
import type { Place } from "../fixtures/clients/front.ts";
import { v1Http, v1Sse } from "../fixtures/clients/sdk-v1.ts";
import { v2Http } from "../fixtures/clients/sdk-v2.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { stdioCommand } from "../fixtures/processes.mjs";
import { failure, started, until } from "../helpers/connect.ts";
import { type Loose, MODERN, RawModern } from "../helpers/raw-clients.ts";
import { runsFile, type Runs, TOKEN } from "../helpers/raw-gateways.ts";

const PATH = "/tools";
const headers = { authorization: `Bearer ${TOKEN}` };

interface Embedded {
  readonly gateway: Gateway;
  readonly runs: Runs;
  /** The URL of the path, and the function that sends requests to it. */
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
}

async function openEmbedded(
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
): Promise<{ gateway: Gateway; runs: Runs }> {
  const runs = runsFile();
  const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
  const gateway = await openGateway(
    {
      servers: [
        {
          alias: "one",
          enabled: true,
          endpoint: { transport: "http", url: server.url },
          origin: { file: "/somewhere/portolan.yaml", line: 1, column: 1, format: "workspace" },
        },
      ],
    },
    { access: { token: TOKEN }, path: PATH, snapshots: false, settings, ...options },
  );
  onTestFinished(() => gateway.close());
  return { gateway, runs };
}

/** A program with its own page that passes all other requests to the gateway. */
async function inNodeServer(settings?: GatewaySettings): Promise<Embedded> {
  const { gateway, runs } = await openEmbedded(settings);
  const server = createServer((request, response) => {
    if (request.url === "/hello") return void response.end("hello");
    gateway.handle(request, response);
  });
  server.on("upgrade", gateway.upgrade);
  return { gateway, runs, url: `${await bound(server)}${PATH}`, fetch: globalThis.fetch };
}

async function behindFetch(settings?: GatewaySettings): Promise<Embedded> {
  const { gateway, runs } = await openEmbedded(settings);
  const fetch = (input: Parameters<typeof globalThis.fetch>[0], init?: RequestInit): Promise<Response> =>
    gateway.fetch(new Request(input, init));
  return { gateway, runs, url: `http://localhost${PATH}`, fetch };
}

async function bound(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A tools/call of a modern client, as the arguments of fetch. */
function modernCall(url: string, params: object, init: RequestInit = {}): [string, RequestInit] {
  const { headers: own, body } = new RawModern(url).request("tools/call", params);
  return [
    `${url}/mcp`,
    { method: "POST", headers: { ...own, ...headers }, body: JSON.stringify(body), ...init },
  ];
}

/** A call that reports progress for a minute. */
const slow = (id: string): object => ({
  name: "mcp_one_slow",
  arguments: { ms: 60_000, every: 10, id },
  _meta: { progressToken: "p" },
});

it("health() and healthCheck() report the state of the servers", async () => {
  const { gateway } = await openEmbedded();
  await gateway.settled();
  expect(gateway.health()).toMatchObject([{ alias: "one", state: "ready" }]);
  expect(await gateway.healthCheck()).toBe(true);
});

const WAYS: readonly (readonly [string, (settings?: GatewaySettings) => Promise<Embedded>])[] = [
  ["under a path of a Node server", inNodeServer],
  ["behind the Fetch API", behindFetch],
];

describe.each(WAYS)("a gateway %s", (_way, embed) => {
  const CLIENTS: readonly (readonly [
    string,
    "legacy" | "modern",
    (place: Place) => ReturnType<typeof v1Http>,
  ])[] = [
    ["SDK 1", "legacy", v1Http],
    ["SDK 2, legacy", "legacy", (place) => v2Http(place, "legacy")],
    ["SDK 2, modern", "modern", (place) => v2Http(place, { pin: MODERN })],
  ];

  it.each(CLIENTS)("serves a client of %s, with progress notifications", async (_name, era, connect) => {
    const { url, fetch } = await embed();
    const client = await connect({ url: `${url}/mcp`, headers, fetch });
    onTestFinished(() => client.close());
    expect(client.era).toBe(era);
    expect((await client.tools()).map(({ name }) => name)).toContain("mcp_one_echo");
    expect(await client.call("mcp_one_echo", { text: "hi" })).toMatchObject({ content: [{ text: "hi" }] });
    const progress: object[] = [];
    await client.call("mcp_one_slow", { ms: 200, every: 10 }, { onProgress: (one) => progress.push(one) });
    expect(progress.length).toBeGreaterThan(0);
  });

  it("streams messages while the call runs, and cancels the call when the client disconnects", async () => {
    const { url, fetch, runs } = await embed();
    const abort = new AbortController();
    const response = await fetch(...modernCall(url, slow("left"), { signal: abort.signal }));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain("notifications/progress");
    abort.abort();
    await until(() => runs.cancelled("left") === 1);
  });

  it("cancels a call when the client cancels the response body", async () => {
    const { url, fetch, runs } = await embed();
    const response = await fetch(...modernCall(url, slow("cancelled")));
    await response.body?.cancel();
    await until(() => runs.cancelled("cancelled") === 1);
  });

  it("sends a large result completely", async () => {
    const { url, fetch } = await embed({ maxResultBytes: 0 });
    const bytes = 5_000_000;
    const response = await fetch(...modernCall(url, { name: "mcp_one_big", arguments: { bytes } }));
    const { result } = (await response.json()) as Loose;
    expect(result.content[0].text).toHaveLength(bytes);
  });

  it("refuses bodies that are too large, callers that send too fast, and requests without a token", async () => {
    const { url, fetch } = await embed({
      limits: { bodyBytes: 10_000, rate: { perSecond: 0.001, burst: 2 } },
    });
    const echo = { name: "mcp_one_echo", arguments: { text: "x" } };
    const long = { name: "mcp_one_echo", arguments: { text: "x".repeat(20_000) } };
    const status = async (call: [string, RequestInit]): Promise<number> => {
      const response = await fetch(...call);
      await response.body?.cancel();
      return response.status;
    };
    const [address, init] = modernCall(url, echo);
    const { authorization: _token, ...anonymous } = init.headers as Record<string, string>;
    expect(await status([address, { ...init, headers: anonymous }])).toBe(401);
    expect(await status(modernCall(url, echo))).toBe(200);
    expect(await status(modernCall(url, long))).toBe(413);
    expect(await status(modernCall(url, echo))).toBe(429);
    expect(await status([`${url}/nothing`, { headers }])).toBe(404);
    expect(await status([address.replace(PATH, ""), init])).toBe(404);
  });

  it("refuses new requests while it closes, and ends running calls with an error", async () => {
    const { url, fetch, gateway, runs } = await embed();
    const running = await fetch(...modernCall(url, slow("closed")));
    await until(() => runs.called("closed") === 1);
    const closing = gateway.close();
    const refused = await fetch(...modernCall(url, { name: "mcp_one_echo", arguments: { text: "x" } }));
    expect(refused.status).toBe(503);
    expect(await running.text()).toMatch(/"error":\{.*the gateway is stopping/);
    await closing;
  });
});

describe("a gateway under a path", () => {
  it("handles only its own path, and answers health checks below it", async () => {
    const { url } = await inNodeServer();
    expect(await (await fetch(url.replace(PATH, "/hello"))).text()).toBe("hello");
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
  });

  it("serves WebSocket and HTTP+SSE below the path", async () => {
    const { url } = await inNodeServer({ transports: { websocket: true, sse: true } });
    const client = await v1Sse({ url: `${url}/mcp`, headers });
    onTestFinished(() => client.close());
    expect(await client.call("mcp_one_echo", { text: "hi" })).toMatchObject({ content: [{ text: "hi" }] });
    const socket = new WebSocket(`${url.replace("http", "ws")}/mcp`, "mcp", { headers });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    socket.send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    const [answer] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(answer.toString())).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  it("refuses WebSocket if it is not enabled", async () => {
    const { url } = await inNodeServer();
    const socket = new WebSocket(`${url.replace("http", "ws")}/mcp`, "mcp", { headers });
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toContain("404");
  });

  it("finds its path if a framework removes it from request.url", async () => {
    const { gateway } = await openEmbedded();
    const server = createServer((request, response) => {
      const { url = "" } = request;
      Object.assign(request, { originalUrl: url, url: url.slice(PATH.length) });
      gateway.handle(request, response);
    });
    const url = `${await bound(server)}${PATH}`;
    const client = await v2Http({ url: `${url}/mcp`, headers }, { pin: MODERN });
    onTestFinished(() => client.close());
    expect(await client.call("mcp_one_echo", { text: "hi" })).toMatchObject({ content: [{ text: "hi" }] });
  });

  describe("after a body parser", () => {
    const parsers: readonly (readonly [string, (text: string) => unknown])[] = [
      ["an object", (body) => JSON.parse(body) as unknown],
      ["a text", (body) => body],
      ["bytes", (body) => Buffer.from(body)],
    ];

    async function behindParser(
      parse: (body: string) => unknown,
      settings?: GatewaySettings,
    ): Promise<{ url: string; reports: Diagnostic[] }> {
      const reports: Diagnostic[] = [];
      const { gateway } = await openEmbedded(settings, { onDiagnostic: (one) => reports.push(one) });
      const server = createServer((request, response) => {
        void text(request).then((body) =>
          gateway.handle(Object.assign(request, { body: parse(body) }), response),
        );
      });
      return { url: `${await bound(server)}${PATH}`, reports };
    }

    it.each(parsers)("that leaves %s in request.body: serves all calls", async (_what, parse) => {
      const { url } = await behindParser(parse);
      const client = await v2Http({ url: `${url}/mcp`, headers }, { pin: MODERN });
      onTestFinished(() => client.close());
      expect(await client.call("mcp_one_echo", { text: "hi" })).toMatchObject({ content: [{ text: "hi" }] });
    });

    it.each(parsers)(
      "that leaves %s in request.body: enforces the limits of size and depth",
      async (_what, parse) => {
        const { url } = await behindParser(parse, { limits: { bodyBytes: 10_000 } });
        const large = modernCall(url, { name: "mcp_one_echo", arguments: { text: "x".repeat(20_000) } });
        expect((await fetch(...large)).status).toBe(413);
        const deep = modernCall(url, {}, { body: `${"[".repeat(200)}${"]".repeat(200)}` });
        expect((await fetch(...deep)).status).toBe(400);
      },
    );

    it("that leaves no request.body: answers with an error at once, and reports it once", async () => {
      const { url, reports } = await behindParser(() => undefined);
      for (let count = 0; count < 2; count += 1) {
        const answer = await fetch(...modernCall(url, { name: "mcp_one_echo" }));
        expect(answer.status).toBe(500);
        expect(await answer.json()).toMatchObject({
          error: {
            message: "The body of this request was read before the gateway got the request",
            data: { hint: expect.stringContaining("before body parsers") as string },
          },
        });
      }
      expect(reports).toMatchObject([{ code: "CONFIG_INVALID", severity: "error" }]);
    });
  });

  it("accepts only localhost and allowedHosts as Host", async () => {
    const { gateway } = await openEmbedded({ allowedHosts: ["tools.example.com"] });
    const status = async (host: string): Promise<number> =>
      (await gateway.fetch(new Request(`http://${host}${PATH}/healthz`))).status;
    expect(await status("localhost:3000")).toBe(200);
    expect(await status("tools.example.com")).toBe(200);
    expect(await status("rebound.example.net")).toBe(403);
  });

  it("publishes OAuth metadata with the configured resource URL", async () => {
    const resource = `https://example.com${PATH}/mcp`;
    const settings = { oauth: { issuer: "https://issuer.example.com", resource } };
    const { gateway } = await openEmbedded(settings, { access: {} });
    const origin = "http://localhost";
    const metadata = `/.well-known/oauth-protected-resource${PATH}/mcp`;
    const refused = await gateway.fetch(new Request(`${origin}${PATH}/mcp`, { method: "POST", body: "{}" }));
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain(`https://example.com${metadata}`);
    expect(await (await gateway.fetch(new Request(origin + metadata))).json()).toMatchObject({ resource });
  });
});

describe("openGateway", () => {
  it("fails if no caller could use the gateway", async () => {
    const opening = openGateway({ servers: [] }, { snapshots: false });
    await expect(opening).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      hint: expect.stringContaining("token"),
    });
  });

  it.each(["tools", "/tools/", "/a b", "/"])("fails if the path is %j", async (path) => {
    const opening = openGateway({ servers: [] }, { path, access: { token: TOKEN }, snapshots: false });
    await expect(opening).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("needs no caller with http: false, and then serves no HTTP", async () => {
    await using gateway = await openGateway({ servers: [] }, { http: false, snapshots: false });
    await expect(gateway.fetch(new Request("http://localhost/mcp"))).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });
});

it("connectMcp() returns the code, hint and server of an error of the gateway", async () => {
  const servers = {
    one: { ...stdioCommand("--era=modern"), sandbox: "off" },
    dead: { ...stdioCommand("--fault=exit-at-start"), sandbox: "off" },
  } as const;
  const gateway = await openGateway(
    { servers },
    {
      ...{ access: { token: TOKEN }, snapshots: false, settings: { port: 0 } },
    },
  );
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const mcp = await connectMcp({ transport: "http", url: `${url}/mcp`, headers });
  onTestFinished(() => mcp.close());
  const error = await failure(mcp.callTool("mcp_one_crash", {}));
  expect(error).toMatchObject({ code: "SERVER_CRASHED", server: "one", cause: { code: "RPC_ERROR" } });
  // Lists return the same error.
  const alone = await connectMcp({ transport: "http", url: `${url}/servers/dead/mcp`, headers });
  onTestFinished(() => alone.close());
  const dead = { code: "SERVER_UNAVAILABLE", server: "dead", hint: expect.any(String) as string };
  for (const attempt of [() => alone.listTools(), () => alone.callTool("echo", {})])
    expect(await failure(attempt())).toMatchObject({ ...dead, cause: { code: "RPC_ERROR" } });
  // The connection to the gateway is not lost.
  expect((await mcp.callTool("mcp_one_echo", { text: "still here" })).text).toContain("still here");
});

it("a program gets a warning at the start about approval rules whose calls nobody can approve", async () => {
  const settings = { approval: [{ tools: ["*"] }] };
  const gateway = await openInProgram({ servers: {} }, { settings, snapshots: false, http: false });
  onTestFinished(() => gateway.close());
  const message = "Nobody can decide about the calls of gateway.approval[0]: they will be refused.";
  expect(gateway.diagnostics.map((one) => one.message)).toContain(message);
});

it("openGateway of a program refuses rules that name unknown servers or callers", async () => {
  const settings = {
    callers: [{ name: "agent", token: "abcabcabcabcabcabc", deny: { servers: ["file"] } }],
    approval: [{ callers: ["agnet"] }],
  };
  const servers = { files: { ...stdioCommand("--era=modern"), start: "lazy" as const } };
  const opened = openInProgram({ servers }, { settings, snapshots: false, http: false });
  expect(await failure(opened)).toMatchObject({
    code: "CONFIG_INVALID",
    data: {
      problems: [
        'callers[0].deny.servers names "file", but there is no such server',
        'approval[0].callers names "agnet", but no caller has this name',
      ],
    },
  });
});

it("a tool pattern of a program that names no known server is a warning", async () => {
  const settings = { approval: [{ tools: ["fils.write_*"] }] };
  const servers = { files: { ...stdioCommand("--era=modern"), start: "lazy" as const } };
  const approve = (): "allow" => "allow";
  const options = { settings, snapshots: false, http: false, approve } as const;
  const gateway = await openInProgram({ servers }, options);
  onTestFinished(() => gateway.close());
  expect(gateway.diagnostics).toContainEqual(
    expect.objectContaining({
      severity: "warning",
      message: expect.stringContaining('"fils.write_*" matches no tool'),
    }),
  );
});

it("the error of a refused WebSocket names the HTTP status and the setting", async () => {
  const options = { access: { token: TOKEN }, snapshots: false, settings: { port: 0 } } as const;
  const gateway = await openGateway({ servers: {} }, options);
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const error = await failure(
    connectMcp({ transport: "websocket", url: `${url.replace("http", "ws")}/mcp`, headers }),
  );
  expect(error.message).toMatch(/HTTP \d{3}/);
  expect(error.hint).toContain("transports.websocket");
});
