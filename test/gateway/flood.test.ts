// Floods: excessive messages of one caller are refused before they slow down other callers.

import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { until } from "../helpers/connect.ts";
import { type Exchange, type Loose, RawHttp, RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import { openTestGateway, stdioServer, TOKEN } from "../helpers/raw-gateways.ts";

const FEW = "the-token-of-few";
/** A rate limit that allows practically nothing after the burst. */
const few = (burst: number): object => ({
  callers: [{ name: "few", token: FEW, limits: { rate: { perSecond: 0.001, burst } } }],
});
const server = (): ReturnType<typeof stdioServer> => stdioServer("one", ["--era=legacy"]);
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"k${n}":0`).join(",")}}`;

async function done(exchange: Exchange): Promise<Exchange> {
  await exchange.over;
  return exchange;
}

async function openSocket(url: string, token: string): Promise<{ socket: WebSocket; heard: Loose[] }> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/mcp`, {
    headers: { authorization: `Bearer ${token}` },
  });
  onTestFinished(() => socket.terminate());
  const heard: Loose[] = [];
  socket.on("message", (data) => heard.push(JSON.parse((data as Buffer).toString())));
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("open", resolve));
  return { socket, heard };
}

/** A client of HTTP+SSE: its event stream, and a function that sends messages. */
async function openSse(url: string, token: string) {
  const http = new RawHttp(url, { token });
  const stream = http.send("GET", { accept: "text/event-stream" }, undefined, "/sse");
  await until(() => stream.text.includes("sessionId="));
  const path = /data: (\S+)/.exec(stream.text)?.[1];
  const post = (body: string): Promise<Exchange> =>
    done(http.send("POST", { "content-type": "application/json" }, body, path));
  return { stream, post };
}

/** Sends raw bytes, and collects the response. */
function raw(url: string, head: string): { socket: Socket; heard: () => string; closed: Promise<void> } {
  const { hostname, port } = new URL(url);
  let heard = "";
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.setEncoding("utf8").on("data", (chunk: string) => (heard += chunk));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(head);
  return { socket, heard: () => heard, closed };
}

const head = (path: string, headers: object, method = "POST"): string =>
  `${method} ${path} HTTP/1.1\r\n${Object.entries({ host: "localhost", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;

describe("JSON with too deep nesting or too many values", () => {
  const cases: [string, string][] = [
    ["nested too deep", nested(200)],
    ["too many values", members(60_000)],
  ];

  it.each(cases)(
    "is refused over Streamable HTTP in both eras, and the caller can continue (%s)",
    async (_what, args) => {
      const { url } = await openTestGateway([server()]);
      const modern = new RawModern(url, { token: TOKEN });
      const legacy = await RawLegacy.open(url, { token: TOKEN });
      const params = { name: "mcp_one_echo", arguments: { text: "hi", more: "@@" } };
      for (const [client, { headers, body }] of [
        [modern, modern.request("tools/call", params)],
        [legacy, { headers: legacy.headers, body: { jsonrpc: "2.0", id: 7, method: "tools/call", params } }],
      ] as const) {
        const text = JSON.stringify(body).replace('"@@"', args);
        const refused = await done(client.send("POST", headers, text));
        expect([refused.status, refused.json.error.code]).toEqual([400, -32600]);
        expect(textOf(await client.tool("mcp_one_echo", { text: "well" }))).toBe("well");
      }
    },
  );

  it.each(cases)(
    "is refused over WebSocket and HTTP+SSE, and the connection continues (%s)",
    async (_what, args) => {
      const { url } = await openTestGateway([server()], { transports: { sse: true, websocket: true } });
      const text = `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"more":${args}}}`;
      const { socket, heard } = await openSocket(url, TOKEN);
      socket.send(text);
      socket.send('{"jsonrpc":"2.0","id":8,"method":"ping"}');
      await until(() => heard.length === 2);
      expect(heard).toMatchObject([
        { id: 7, error: { code: -32600 } },
        { id: 8, result: {} },
      ]);
      const { stream, post } = await openSse(url, TOKEN);
      expect((await post(text)).status).toBe(400);
      expect((await post('{"jsonrpc":"2.0","id":8,"method":"ping"}')).status).toBe(202);
      expect((await stream.answer(8)).result).toEqual({});
    },
  );

  it("is refused before the rest of it is received", async () => {
    const { url } = await openTestGateway([server()]);
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
      "content-length": 4_000_000,
    };
    const { heard, closed } = raw(url, `${head("/mcp", headers)}${nested(200)}`);
    await closed;
    expect(heard()).toMatch(/^HTTP\/1\.1 400 [^]*nested deeper than 128 levels/);
  });

  it("is not detected inside a long text: the text is passed on", async () => {
    const { url } = await openTestGateway([server()], { maxResultBytes: 0 });
    const text = '[{",\\'.repeat(500_000);
    const modern = new RawModern(url, { token: TOKEN });
    expect(textOf(await modern.tool("mcp_one_echo", { text }))).toBe(text);
  });
});

describe("the rate limit of a caller", () => {
  it("counts every HTTP request, whatever its method, path and body", async () => {
    const { url } = await openTestGateway([server()], few(7));
    const http = new RawHttp(url, { token: FEW });
    const json = { "content-type": "application/json" };
    const statuses: number[] = [];
    const send = async (...args: Parameters<RawHttp["send"]>): Promise<void> =>
      void statuses.push((await done(http.send(...args))).status);
    await send("POST", json, "nonsense");
    await send("POST", json, "[[[[");
    await send("POST", { "mcp-protocol-version": "2026-07-28", ...json }, '{"jsonrpc":"2.0","method":"n"}');
    await send("GET", { accept: "text/event-stream", "mcp-session-id": "none" });
    await send("DELETE", { "mcp-session-id": "none" });
    await send("PUT", json, "{}");
    await send("POST", json, "{}", "/servers/none/mcp");
    expect(statuses).toEqual([400, 400, 202, 404, 404, 405, 404]);
    for (const [method, body] of [["POST", "nonsense"], ["GET"], ["DELETE"], ["PUT"]] as const)
      expect((await done(http.send(method, json, body))).status, method).toBe(429);
    // Other callers have their own limits.
    expect(textOf(await new RawModern(url, { token: TOKEN }).tool("mcp_one_echo", { text: "hi" }))).toBe(
      "hi",
    );
  });

  it("refuses a request before it reads the body", async () => {
    const { url } = await openTestGateway([server()], few(1));
    const headers = {
      authorization: `Bearer ${FEW}`,
      "content-type": "application/json",
      "content-length": 1_000_000,
      expect: "100-continue",
    };
    const first = raw(url, head("/mcp", headers));
    await until(() => first.heard().includes("\r\n\r\n"));
    expect(first.heard()).toMatch(/^HTTP\/1\.1 100 /);
    const second = raw(url, head("/mcp", headers));
    await second.closed;
    expect(second.heard()).toMatch(/^HTTP\/1\.1 429 /);
  });

  it("counts messages over WebSocket and HTTP+SSE, and the refusal has the id of the request", async () => {
    const { url } = await openTestGateway([server()], {
      ...few(6),
      transports: { sse: true, websocket: true },
    });
    // Opening a connection counts too.
    const { socket, heard } = await openSocket(url, FEW);
    socket.send("nonsense");
    socket.send('{"jsonrpc":"2.0","method":"notifications/none"}');
    socket.send('{"jsonrpc":"2.0","id":"a","method":"ping"}');
    const { post } = await openSse(url, FEW);
    expect((await post("nonsense")).status).toBe(400);
    expect((await post('{"jsonrpc":"2.0","method":"notifications/none"}')).status).toBe(429);
    socket.send('{"jsonrpc":"2.0","id":"b","method":"ping"}');
    socket.send('{"method":"tools/call","params":{"name":"x","arguments":{"id":1}},"jsonrpc":"2.0","id":5}');
    await until(() => heard.length === 4);
    expect(heard).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: "a", result: {} },
      { id: "b", error: { message: expect.stringContaining("rate limit") } },
      { id: 5, error: { message: expect.stringContaining("rate limit") } },
    ]);
    // A client that continues is disconnected.
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    for (let n = 0; n < 3; n += 1) socket.send(`"${"x".repeat(600_000)}"`);
    expect(await closed).toBe(1008);
  });

  it.each(["ping", "pong"] as const)("counts WebSocket frames of the type %s", async (kind) => {
    const { url } = await openTestGateway([server()], { ...few(3), transports: { websocket: true } });
    const { socket } = await openSocket(url, FEW);
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    for (let n = 0; n < 3; n += 1) socket[kind]();
    expect(await closed).toBe(1008);
  });
});

describe("the unfinished bodies of one caller are limited", () => {
  const limits = { limits: { bodyBytes: 4 * 1024 * 1024 }, callers: [{ name: "few", token: FEW }] };

  it("over HTTP, where the announced length counts", async () => {
    const { url } = await openTestGateway([server()], limits);
    const headers = {
      authorization: `Bearer ${FEW}`,
      "content-type": "application/json",
      "content-length": 4_000_000,
    };
    const slow = Array.from({ length: 12 }, () => raw(url, head("/mcp", headers)));
    await until(() => slow.filter(({ heard }) => heard().includes(" 429 ")).length >= 4);
    expect(slow.filter(({ heard }) => heard() === "")).toHaveLength(8);
    expect(textOf(await new RawModern(url, { token: TOKEN }).tool("mcp_one_echo", { text: "hi" }))).toBe(
      "hi",
    );
    for (const { socket } of slow) socket.destroy();
    // Closed connections no longer count.
    const again = new RawModern(url, { token: FEW });
    await until(async () => (await done(again.post("tools/list"))).status === 200);
  });

  it("over WebSocket, where an unfinished message counts", async () => {
    const { url } = await openTestGateway([server()], { ...limits, transports: { websocket: true } });
    const part = "x".repeat(3_500_000);
    const closed: number[] = [];
    const channels = await Promise.all(Array.from({ length: 12 }, () => openSocket(url, FEW)));
    for (const { socket } of channels) {
      socket.on("close", (code) => closed.push(code));
      socket.send(part, { fin: false });
    }
    await until(() => closed.length >= 3);
    expect(new Set(closed)).toEqual(new Set([1013]));
    const { socket, heard } = await openSocket(url, TOKEN);
    socket.send('{"jsonrpc":"2.0","id":8,"method":"ping"}');
    await until(() => heard.length === 1);
    expect(heard).toMatchObject([{ id: 8, result: {} }]);
  });
});

it("initialize and subscribe refuse very long names and URIs", async () => {
  const { url } = await openTestGateway([server()], { transports: { websocket: true } });
  const clientInfo = { name: "x".repeat(100_000), version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params });
  const http = new RawHttp(url, { token: TOKEN });
  const refused = await done(http.send("POST", { "content-type": "application/json" }, body));
  expect([refused.status, refused.json]).toMatchObject([400, { id: 7, error: { code: -32602 } }]);
  expect(refused.headers).not.toHaveProperty("mcp-session-id");
  const { socket, heard } = await openSocket(url, TOKEN);
  socket.send(body);
  await until(() => heard.length === 1);
  expect(heard).toMatchObject([{ id: 7, error: { code: -32602 } }]);
  const legacy = await RawLegacy.open(url, { token: TOKEN });
  const { error } = await legacy.call("resources/subscribe", { uri: `test://${"x".repeat(10_000)}` });
  expect(error?.code).toBe(-32602);
});

describe("a refused request", () => {
  const chunked = { "transfer-encoding": "chunked", "content-type": "application/json" };
  const authorization = `Bearer ${TOKEN}`;
  const cases: [number, string, object, string?][] = [
    [401, "/mcp", chunked],
    [403, "/mcp", { ...chunked, host: "evil.example" }],
    [404, "/nowhere", chunked],
    [404, "/servers/none/mcp", { ...chunked, authorization }],
    [404, "/messages?sessionId=none", { ...chunked, authorization }],
    [405, "/mcp", { ...chunked, authorization }, "PUT"],
    [406, "/mcp", { ...chunked, authorization, accept: "text/html" }],
    [413, "/mcp", { ...chunked, authorization }],
    [413, "/mcp", { authorization, "content-type": "application/json", "content-length": 1e12 }],
    [415, "/mcp", { ...chunked, authorization, "content-type": "text/plain" }],
    [415, "/mcp", { ...chunked, authorization, "content-encoding": "gzip" }],
    [417, "/mcp", { ...chunked, authorization, expect: "something" }],
    [400, "/mcp", { ...chunked, authorization, "mcp-session-id": "none" }, "DELETE"],
    [200, "/healthz", chunked],
  ];

  it("is not read to its end: the connection is closed, whatever the reason of the refusal", async () => {
    const { url } = await openTestGateway([server()], {
      limits: { bodyBytes: 100_000 },
      transports: { sse: true },
    });
    await Promise.all(
      cases.map(async ([status, path, headers, method = "POST"]) => {
        const { socket, heard, closed } = raw(url, head(path, headers, method));
        const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
        let sent = 0;
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
          if (!socket.destroyed) socket.once("drain", more);
        };
        more();
        await closed;
        expect(heard(), `${method} ${path}`).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
        expect(heard().toLowerCase(), `${method} ${path}`).toContain("connection: close");
        // No more data is sent than fits into the buffers of two sockets.
        expect(sent, `${method} ${path}`).toBeLessThan(32 * 1024 * 1024);
      }),
    );
  });

  it("keeps its connection open if its whole body has arrived", async () => {
    const { url } = await openTestGateway([server()]);
    const text = head("/mcp", { "content-type": "application/json", "content-length": 2 });
    const { socket, heard } = raw(url, `${text}{}`);
    await until(() => heard().includes("AUTH_REQUIRED"));
    expect(heard().toLowerCase()).not.toContain("connection: close");
    socket.write(head("/healthz", {}, "GET"));
    await until(() => heard().includes('{"status":"ok"}'));
  });
});
