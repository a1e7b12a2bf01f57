// Abuse: clients that exhaust resources, use sessions and calls of others, or keep connections open forever.

import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { until } from "../helpers/connect.ts";
import { RawHttp, RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import { openTestGateway, stdioServer, TOKEN } from "../helpers/raw-gateways.ts";

const CALLERS = [
  { name: "ann", token: "the-token-of-ann" },
  { name: "bob", token: "the-token-of-bob" },
];
const server = (): ReturnType<typeof stdioServer> => stdioServer("one", ["--era=legacy"]);

/** Sends raw bytes, and returns the response until the connection closes. */
function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      heard += chunk;
      if (heard.includes("\r\n\r\n")) setTimeout(() => socket.end(), 50);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(heard));
  });
}

describe("subscription streams", () => {
  it("are released when their client disconnects, also after 300 times", async () => {
    const { url } = await openTestGateway([server()]);
    const client = new RawModern(url, { token: TOKEN });
    for (let n = 0; n < 300; n += 1) {
      const stream = client.post("subscriptions/listen", { notifications: { toolsListChanged: true } });
      await stream.find(({ method }) => method === "notifications/subscriptions/acknowledged");
      stream.destroy();
      await stream.over;
    }
    expect((await client.tool("mcp_one_echo", { text: "still here" })).error).toBeUndefined();
  });
});

describe("the text search in large results", () => {
  it("refuses a search text that is too long", async () => {
    const { url } = await openTestGateway([server()], { maxResultBytes: 1_000 });
    const client = new RawModern(url, { token: TOKEN });
    const { result } = await client.tool("mcp_one_echo", { text: "a".repeat(100_000) });
    const { uri } = result.content.find(({ type }: { type: string }) => type === "resource_link");
    const found = await client.ask("resources/read", { uri: `${uri}?find=aaa` });
    expect(found.result.contents[0].text).toMatch(/^0: aaa/);
    const refused = await client.ask("resources/read", { uri: `${uri}?find=${"a".repeat(101)}` });
    expect(refused.error).toMatchObject({ code: -32602, data: { hint: "Search for a shorter text." } });
  });
});

describe("upgrade requests to another protocol", () => {
  const request = (path: string, more: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${more}\r\n\r\n`;

  it("are ignored if the path has no WebSocket", async () => {
    const { url } = await openTestGateway([server()]);
    expect(await raw(url, request("/healthz", "h2c"))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("to a wrong path or without a token are refused, and do not stop the gateway from closing", async () => {
    const { url, gateway } = await openTestGateway([server()], { transports: { websocket: true } });
    expect(await raw(url, request("/nowhere", "websocket"))).toMatch(/^HTTP\/1\.1 404 /);
    expect(await raw(url, request("/mcp", "websocket"))).toMatch(/^HTTP\/1\.1 401 /);
    await gateway.close();
  });
});

describe("JSON-RPC batches", () => {
  it("count as several messages for the rate limit, and are refused in revisions without batches", async () => {
    const { url } = await openTestGateway([server()], {
      callers: [
        { name: "slow", token: "the-token-of-slow", limits: { rate: { perSecond: 0.01, burst: 3 } } },
      ],
    });
    const batch = (count: number): object[] =>
      Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id: `b${id}`, method: "ping" }));
    const send = async (token: string, body: unknown): Promise<number> => {
      const client = await RawLegacy.open(url, { token });
      const exchange = client.send("POST", client.headers, JSON.stringify(body));
      await exchange.over;
      return exchange.status;
    };
    expect(await send("the-token-of-slow", batch(5))).toBe(429);
    expect(await send(TOKEN, batch(2))).toBe(400);
  });
});

describe("tasks", () => {
  it("of one caller are not accessible to another caller", async () => {
    const { url } = await openTestGateway([stdioServer("one", ["--era=modern", "--runs=/dev/null"])], {
      callers: CALLERS,
    });
    const ann = new RawModern(url, { token: "the-token-of-ann" });
    const bob = new RawModern(url, { token: "the-token-of-bob" });
    const given = { resultType: "task", taskId: "t-1", status: "working" };
    const { taskId } = (await ann.tool("mcp_one_give", { result: given })).result;
    expect(taskId).toMatch(/^one\.t-1~/);
    // The fixture has no tasks: it refuses each request that reaches it with its own error code.
    expect((await ann.ask("tasks/get", { taskId })).error?.code).toBe(-32601);
    expect((await bob.ask("tasks/get", { taskId })).error).toMatchObject({ code: -32602 });
    expect((await bob.ask("tasks/get", { taskId: "one.t-1" })).error).toMatchObject({ code: -32602 });
    expect((await bob.ask("tasks/list")).error?.code).toBe(-32601);
  });
});

describe("many sessions of one caller", () => {
  it("do not end the sessions of another caller", async () => {
    const { url } = await openTestGateway([server()], { callers: CALLERS, limits: { sessions: 6 } });
    const bob = await RawLegacy.open(url, { token: "the-token-of-bob" });
    for (let n = 0; n < 12; n += 1) {
      const ann = await RawLegacy.open(url, { token: "the-token-of-ann" });
      await ann.listen();
    }
    expect((await bob.tool("mcp_one_echo", { text: "hello" })).error).toBeUndefined();
  });
});

describe("a stream that resumes after an unknown event id", () => {
  it("ends at once without messages, and other streams of the session stay open", async () => {
    const { url } = await openTestGateway([server()]);
    const client = await RawLegacy.open(url, { token: TOKEN });
    const standing = await client.listen();
    const unknown = await client.listen("99_5");
    await unknown.over;
    expect(unknown.status).toBe(200);
    expect(unknown.messages).toEqual([]);
    expect((await client.tool("mcp_one_echo", { text: "well" })).error).toBeUndefined();
    standing.destroy();
  });
});

describe("a server that does not answer", () => {
  /** Answers every request except logging/setLevel and a subscription to `h://silent`. */
  const SILENT = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const results = {
      initialize: { protocolVersion: "2025-11-25", serverInfo: { name: "s", version: "1" },
        capabilities: { tools: {}, logging: {}, resources: { subscribe: true } } },
      "tools/list": { tools: [] },
      "resources/list": { resources: [{ uri: "h://silent", name: "a" }, { uri: "h://open", name: "b" }] },
      "resources/templates/list": { resourceTemplates: [] },
    };
    const silent = method === "logging/setLevel" || params?.uri === "h://silent";
    if (id === undefined || silent) return;
    const answer = method === "server/discover" ? { error: { code: -32601, message: "no" } } : { result: results[method] ?? {} };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });`;
  const silent = {
    alias: "silent",
    endpoint: { transport: "stdio", command: process.execPath, args: ["-e", SILENT] },
  } as const;

  it("to a log level request does not delay calls of other servers", async () => {
    const { url } = await openTestGateway([server(), silent]);
    const client = new RawModern(url, { token: TOKEN, logLevel: "debug" });
    expect(textOf(await client.tool("mcp_one_echo", { text: "soon" }))).toBe("soon");
  });

  it("to one subscription does not prevent the subscription to another resource", async () => {
    const { url } = await openTestGateway([silent]);
    const client = new RawModern(url, { token: TOKEN });
    const wanted = { resourceSubscriptions: ["h://silent", "h://open"] };
    const stream = client.post("subscriptions/listen", { notifications: wanted });
    const { params } = await stream.find(
      ({ method }) => method === "notifications/subscriptions/acknowledged",
    );
    expect(params.notifications).toEqual({ resourceSubscriptions: ["h://open"] });
    stream.destroy();
  });
});

describe("invalid messages", () => {
  it("over WebSocket are answered, and the connection works afterwards", async () => {
    const { url } = await openTestGateway([server()], { auth: "none", transports: { websocket: true } });
    const channel = new WebSocket(`${url.replace("http", "ws")}/mcp`);
    const heard: { id?: unknown; error?: { code: number }; result?: object }[] = [];
    channel.on("message", (data) => heard.push(JSON.parse((data as Buffer).toString())));
    await new Promise((resolve) => channel.once("open", resolve));
    const send = (message: object): void => channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } });
    send({ id: 2, method: "resources/subscribe", params: { uri: { toString: 1 } } });
    send({ id: 3, method: "tools/call", params: { name: { toString: 1 } } });
    send({ id: 4, method: "tools/list", params: { cursor: {} } });
    channel.send("nonsense");
    send({ id: 5, method: "ping" });
    await until(() => heard.length === 6);
    expect(heard.find(({ id }) => id === 2)?.error?.code).toBe(-32602);
    expect(heard.find(({ id }) => id === 3)?.error).toBeDefined();
    expect(heard.find(({ id }) => id === null)?.error?.code).toBe(-32700);
    expect(heard.find(({ id }) => id === 5)?.result).toEqual({});
    channel.close();
  });

  it("over HTTP: an absolute request URL works, an object as id and a modern GET are refused", async () => {
    const { url } = await openTestGateway([server()]);
    expect(
      await raw(url, `GET ${url}/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 200 /);
    const client = await RawLegacy.open(url, { token: TOKEN });
    const odd = client.send("POST", client.headers, '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}');
    await odd.over;
    expect(odd.status).toBe(400);
    const modern = new RawHttp(url, { token: TOKEN }).send("GET", { "mcp-protocol-version": "2026-07-28" });
    await modern.over;
    expect(modern.status).toBe(405);
  });
});

describe("OAuth metadata", () => {
  it("is at the URL that the 401 response names", async () => {
    const { url } = await openTestGateway([server()], { oauth: { issuer: "https://issuer.example" } });
    const refused = new RawModern(url).post("tools/list");
    await refused.over;
    expect(refused.status).toBe(401);
    const where = /resource_metadata="([^"]+)"/.exec(String(refused.headers["www-authenticate"]))?.[1];
    const found = await fetch(String(where));
    expect([found.status, await found.json()]).toMatchObject([
      200,
      { resource: `${url}/mcp`, authorization_servers: ["https://issuer.example"] },
    ]);
  });
});

describe("closing a gateway", () => {
  it("lets a call over WebSocket finish, and refuses new calls", async () => {
    const { url, gateway } = await openTestGateway([server()], {
      auth: "none",
      transports: { websocket: true },
    });
    const channel = new WebSocket(`${url.replace("http", "ws")}/mcp`);
    const heard: { id?: unknown; error?: { message: string }; result?: object }[] = [];
    channel.on("message", (data) => heard.push(JSON.parse((data as Buffer).toString())));
    await new Promise((resolve) => channel.once("open", resolve));
    const send = (message: object): void => channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } });
    send({ id: 2, method: "tools/call", params: { name: "mcp_one_slow", arguments: { ms: 500 } } });
    await until(() => heard.length === 1);
    const closed = gateway.close();
    send({ id: 3, method: "tools/call", params: { name: "mcp_one_echo", arguments: { text: "late" } } });
    await closed;
    expect(textOf(heard.find(({ id }) => id === 2) as never)).toBe("done after 500 ms");
    expect(heard.find(({ id }) => id === 3)?.error?.message).toMatch(/stopping/);
  });
});
