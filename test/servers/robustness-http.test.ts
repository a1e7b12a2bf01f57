// Robustness over HTTP and WebSocket: sessions, streams and bodies that fail in unusual ways.

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { connectMcp } from "../../src/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { connectFixture, connectUrl, failure, nextEvent, started, until } from "../helpers/connect.ts";
import { connectTo, DISCOVER, event, INITIALIZE, serve, TOOLS } from "../helpers/http.ts";

type Filter = { resourceSubscriptions?: string[] };

const SUBSCRIBABLE = {
  ...DISCOVER,
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
};

const acknowledged = (id: number | undefined): object => ({
  method: "notifications/subscriptions/acknowledged",
  params: { _meta: { "io.modelcontextprotocol/subscriptionId": id }, notifications: {} },
});

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("almost valid answers", () => {
  it.each(["json", "stream"] as const)(
    "error: null and method: null in an answer are ignored (%s)",
    async (how) => {
      const { server, mcp } = await connectTo("legacy", {
        "tools/call": ({ id, reply, stream, response, params }) => {
          const other = params.name === "t" ? { error: null } : { method: null };
          const answer = { id, ...other, result: { content: [] } };
          if (how === "json") return reply(answer);
          stream();
          response.end(`id: 1\nretry: 1\n${event(answer)}`);
        },
        "tools/list": ({ json }) =>
          json({ tools: [...TOOLS.tools, { name: "u", inputSchema: { type: "object" } }] }),
      });
      expect(await mcp.callTool("t")).toEqual({ content: [] });
      expect(await mcp.callTool("u")).toEqual({ content: [] });
      expect(mcp.stats().inFlight).toBe(0);
      // The response has arrived, so the stream is not resumed.
      await wait(300);
      expect(server.seen.filter(({ headers }) => headers["last-event-id"] !== undefined)).toEqual([]);
    },
  );

  it("a null result is refused", async () => {
    const { mcp } = await connectTo("modern", { "tools/call": ({ json }) => json(null) });
    expect((await failure(mcp.callTool("t"))).code).toBe("PROTOCOL_ERROR");
  });

  it.each([{}, { tools: { t: 1 } }])("%j is refused as a list of tools", async (list) => {
    const { mcp } = await connectTo("modern", { "tools/list": ({ json }) => json(list) });
    expect((await failure(mcp.listTools())).code).toBe("PROTOCOL_ERROR");
  });

  it.each([[{}], [[1]], [5], [true], [null], [""]])("nextCursor %j ends a list", async (nextCursor) => {
    const { server, mcp } = await connectTo("modern", {
      "tools/list": ({ json }) => json({ ...TOOLS, nextCursor }),
    });
    expect(await mcp.listTools()).toHaveLength(1);
    expect(server.count("tools/list")).toBe(1);
  });

  it('a field "text" of a result stays unchanged', async () => {
    const { mcp } = await connectTo("modern", {
      "tools/call": ({ json }) => json({ content: [{ type: "text", text: "said" }], text: "mine" }),
    });
    const result = await mcp.callTool("t");
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      content: [{ type: "text", text: "said" }],
      text: "mine",
    });
  });

  it.each([{}, { inputRequests: null }, { inputRequests: null, requestState: 5 }])(
    "input_required without requests (%j) is an error",
    async (asked) => {
      const { server, mcp } = await connectTo("modern", {
        "tools/call": ({ json }) => json({ resultType: "input_required", ...asked }),
      });
      expect((await failure(mcp.callTool("t"))).code).toBe("PROTOCOL_ERROR");
      expect(server.count("tools/call")).toBe(1);
    },
  );

  it("fields that the server left null are not sent back", async () => {
    const rounds: object[] = [];
    const { mcp } = await connectTo("modern", {
      "tools/call": ({ json, params }) => {
        const { inputResponses, requestState } = params;
        rounds.push({ inputResponses, requestState });
        if (rounds.length > 1) return json({ content: [] });
        json({ resultType: "input_required", inputRequests: null, requestState: "s" });
      },
    });
    await mcp.callTool("t");
    expect(rounds[1]).toEqual({ inputResponses: undefined, requestState: "s" });
  });

  it.each(["application/json", "text/event-stream"])(
    "the error of a compressed answer names the encoding (%s)",
    async (type) => {
      const { mcp } = await connectTo("modern", {
        "tools/call": ({ response, id }) => {
          response.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
          response.end(gzipSync(event({ id, result: {} })));
        },
      });
      const error = await failure(mcp.callTool("t"));
      expect(error.code).toBe("PROTOCOL_ERROR");
      expect(error.message).toContain("gzip");
    },
  );
});

describe("bodies in very small chunks", () => {
  it("an event of 50000 one-byte chunks is read in linear time", async () => {
    const { mcp } = await connectTo("modern", {
      "tools/call": ({ response, stream, id }) => {
        stream();
        response.write(
          `data: {"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":"${"x".repeat(5_000_000)}`,
        );
        // Raw HTTP chunks of one byte each.
        response.socket?.write("1\r\ny\r\n".repeat(50_000));
        response.end('"}}\n\n');
      },
    });
    const { x } = (await mcp.callTool("t")) as { x?: string };
    expect(x).toHaveLength(5_050_000);
  });

  it("a body of millions of chunks uses little memory", async () => {
    const { mcp } = await connectTo("modern", {
      "tools/call": async ({ response, id }) => {
        response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
        const { socket } = response;
        for (let i = 0; i < 60; i += 1) {
          if (socket?.write("1\r\n \r\n".repeat(50_000)) === false) await once(socket, "drain");
        }
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));
      },
    });
    await mcp.listTools();
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    expect(await mcp.callTool("t")).toEqual({ content: [] });
    clearInterval(watch);
    expect(peak - before).toBeLessThan(150_000_000);
  });

  it("empty data lines count towards the size limit of an event", async () => {
    const { mcp } = await connectTo(
      "modern",
      {
        "tools/call": ({ response, stream }) => {
          stream();
          response.end("data:\n".repeat(500_000));
        },
      },
      { limits: { maxMessageBytes: 100_000 } },
    );
    expect((await failure(mcp.callTool("t"))).code).toBe("MESSAGE_TOO_LARGE");
  });
});

describe("legacy sessions", () => {
  it("a tool call that gets HTTP 400 with a plain text is not repeated", async () => {
    const { server, mcp } = await connectTo("legacy", {
      "tools/call": ({ response }) => response.writeHead(400).end("the backend said: bad amount"),
    });
    expect(await failure(mcp.callTool("t"))).toMatchObject({ code: "HTTP_ERROR", data: { status: 400 } });
    expect(server.count("tools/call")).toBe(1);
    expect(server.count("initialize")).toBe(1);
  });

  it("HTTP 404 means a lost session, also with a JSON-RPC error for this request", async () => {
    const { server, mcp } = await connectTo("legacy", {
      "tools/call": ({ request, json, reply }) =>
        request.headers["mcp-session-id"] === "s1"
          ? reply({ error: { code: -32001, message: "Session not found" } }, 404)
          : json({ content: [] }),
    });
    expect(await mcp.callTool("t")).toEqual({ content: [] });
    expect(server.count("initialize")).toBe(2);
  });

  it("subscribing and setting the log level open a new session if the session is lost", async () => {
    const server = await started(startHttpServer({ era: "legacy" }));
    const mcp = await connectUrl(server.url);
    server.forgetSessions();
    await mcp.subscribe("test://static-text");
    server.forgetSessions();
    await mcp.setLogLevel("debug");
    expect(server.stats.requests.initialize).toBe(3);
  });

  it("closing ends calls that hang in a session that the server lost", async () => {
    const server = await started(startHttpServer({ era: "legacy" }));
    const mcp = await connectUrl(server.url);
    await mcp.listTools();
    const hanging = failure(mcp.callTool("hang"));
    await until(() => server.stats.calls.hang === 1);
    server.forgetSessions();
    expect((await mcp.callTool("echo", { text: "new" })).text).toBe("new");
    await mcp.close();
    expect((await hanging).code).toBe("CONNECTION_CLOSED");
  });

  it("the session id comes from the answer to initialize only", async () => {
    const { server, mcp } = await connectTo("legacy", {
      "server/discover": ({ response, id }) => {
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "probe" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
      },
      "tools/list": ({ json }) => json(TOOLS, { "mcp-session-id": "other" }),
    });
    await mcp.listTools();
    await mcp.callTool("t");
    const sessions = server.seen.map(({ name, headers }) => [name, headers["mcp-session-id"]]);
    expect(sessions.slice(0, 2)).toEqual([
      ["server/discover", undefined],
      ["initialize", undefined],
    ]);
    expect(new Set(sessions.slice(2).map(([, session]) => session))).toEqual(new Set(["s1"]));
  });

  it("a server that never accepts `initialized` runs into the start timeout", async () => {
    const server = await serve("legacy", { "notifications/initialized": () => {} });
    const error = await failure(connectUrl(server.url, { limits: { startTimeoutMs: 300 } }));
    expect(error).toMatchObject({ code: "SERVER_START_FAILED", data: { startTimeoutMs: 300 } });
  });

  it.each(["0", "999999999", "99999999999999"])(
    "a notification stream that ends at once is not reopened in a loop (retry: %s)",
    async (retry) => {
      const { server } = await connectTo("legacy", {
        GET: ({ response, stream }) => {
          stream();
          response.end(`retry: ${retry}\n\n`);
        },
      });
      await wait(700);
      expect(server.count("GET")).toBeGreaterThan(0);
      expect(server.count("GET")).toBeLessThan(10);
    },
  );
});

it("an unsupported version in the modern era does not lead to initialize, also without an id", async () => {
  const data = { supported: ["2099-01-01"], requested: "2026-07-28" };
  const error = { code: -32022, message: "Unsupported protocol version", data };
  const server = await serve("modern", { "server/discover": ({ reply }) => reply({ id: null, error }, 400) });
  expect((await failure(connectUrl(server.url))).code).toBe("VERSION_UNSUPPORTED");
  expect(server.seen.map(({ name }) => name)).toEqual(["server/discover"]);
});

describe("connections", () => {
  it("calls fail as BUSY only while the server does not answer", async () => {
    let deaf = true;
    const { mcp } = await connectTo(
      "modern",
      { "tools/call": ({ json }) => (deaf ? undefined : json({ content: [] })) },
      { limits: { maxQueuedBytes: 1_000_000 } },
    );
    await mcp.listTools();
    const call = (): Promise<unknown> => mcp.callTool("t", { x: "x".repeat(90_000) }, { timeoutMs: 500 });
    const errors = await Promise.all(Array.from({ length: 30 }, () => failure(call())));
    expect(errors.filter(({ code }) => code === "TIMEOUT")).toHaveLength(11);
    expect(errors.filter(({ code }) => code === "BUSY")).toHaveLength(19);
    deaf = false;
    expect(await call()).toEqual({ content: [] });
  });

  it("two thousand pings of the server use a limited number of connections", async () => {
    let most = 0;
    const { server, mcp } = await connectTo("legacy", {
      answer: () => {},
      "tools/call": ({ stream, response, id }) => {
        stream(...Array.from({ length: 2_000 }, (_, n) => ({ id: `p${n}`, method: "ping" })));
        setTimeout(() => response.end(event({ id, result: { content: [] } })), 500);
      },
    });
    await mcp.listTools();
    const watch = setInterval(
      () => void server.connections().then((count) => (most = Math.max(most, count))),
      20,
    );
    expect(await mcp.callTool("t")).toEqual({ content: [] });
    clearInterval(watch);
    expect(most).toBeLessThan(300);
  });

  it("streams that the server leaves open after the answer are closed", async () => {
    let closed = 0;
    const { mcp } = await connectTo("modern", {
      "tools/call": ({ stream, response, id }) => {
        response.once("close", () => (closed += 1));
        stream({ id, result: { content: [] } });
      },
    });
    for (let i = 0; i < 30; i += 1) await mcp.callTool("t");
    await until(() => closed === 30);
  });
});

describe("notifications", () => {
  it.each(["stdio", "http (json)", "websocket"] as const)(
    "several resources can be subscribed at once, and all updates arrive (%s)",
    async (way) => {
      const mcp = await connectFixture(way, "modern");
      const uris = [
        "test://static-text",
        "test://static-binary",
        "test://template/1/data",
        "test://template/2/data",
      ];
      await Promise.all(uris.map((uri) => mcp.subscribe(uri)));
      const heard = new Set<string>();
      mcp.on("resourceUpdated", (uri) => heard.add(uri));
      for (const uri of uris) await mcp.callTool("touch_resource", { uri });
      await until(() => heard.size === uris.length);
    },
    8_000,
  );

  it("concurrent subscriptions do not wait for an older stream, and the last stream covers all URIs", async () => {
    const listens: (string[] | undefined)[] = [];
    const { mcp } = await connectTo("modern", {
      "server/discover": ({ json }) => json(SUBSCRIBABLE),
      "subscriptions/listen": ({ stream, response, id, params }) => {
        listens.push((params.notifications as Filter).resourceSubscriptions);
        stream();
        // The first subscription is acknowledged late.
        setTimeout(() => response.write(event(acknowledged(id))), listens.length === 1 ? 300 : 0);
      },
    });
    await Promise.all(["a:1", "a:2", "a:3"].map((uri) => mcp.subscribe(uri)));
    expect(listens.at(-1)).toEqual(["a:1", "a:2", "a:3"]);
  });

  it("a refused subscription does not affect the others", async () => {
    let streams = 0;
    let open: ServerResponse | undefined;
    const { mcp } = await connectTo("modern", {
      "server/discover": ({ json }) => json(SUBSCRIBABLE),
      "subscriptions/listen": ({ stream, response, reply, id, params }) => {
        if ((params.notifications as Filter).resourceSubscriptions !== undefined)
          return reply({ error: { code: -32602, message: "no such resource" } });
        streams += 1;
        open = response;
        stream(acknowledged(id));
      },
    });
    await until(() => streams === 1);
    const again = nextEvent(mcp, "toolsChanged");
    expect((await failure(mcp.subscribe("no:where"))).code).toBe("RPC_ERROR");
    await again;
    expect(streams).toBe(2);
    const changed = nextEvent(mcp, "toolsChanged");
    open?.write(event({ method: "notifications/tools/list_changed" }));
    await changed;
  });

  it("lists are fetched again after the notification stream was interrupted", async () => {
    const server = await started(startHttpServer({ era: "modern", ttl: 3_600_000 }));
    const mcp = await connectUrl(server.url);
    const before = await mcp.listTools();
    await until(() => server.endSubscriptions("drop") > 0);
    await mcp.callTool("change_tools", { action: "add", silent: true });
    await nextEvent(mcp, "toolsChanged");
    expect(await mcp.listTools()).toHaveLength(before.length + 1);
  });
});

describe("HTTP+SSE", () => {
  /** A server whose event stream ends at `initialized`, for the connections with these numbers. */
  async function serveSse(dying: number[]): Promise<{ url: string; drop(): void }> {
    let connections = 0;
    let events: ServerResponse | undefined;
    const say = (message: object): unknown => events?.write(event(message));
    const server = await serve("legacy", {
      GET: ({ stream, response }) => {
        connections += 1;
        events = response;
        stream();
        response.write("event: endpoint\ndata: /post\n\n");
      },
      initialize: ({ response, id }) => {
        response.writeHead(202).end();
        say({ id, result: INITIALIZE });
      },
      "notifications/initialized": ({ response }) => {
        if (dying.includes(connections)) events?.end();
        setTimeout(() => response.writeHead(202).end(), 50);
      },
      "tools/list": ({ response, id }) => {
        response.writeHead(202).end();
        say({ id, result: TOOLS });
      },
    });
    return { url: server.url, drop: () => void events?.end() };
  }

  it("a connection that breaks during the handshake fails the start", async () => {
    const { url } = await serveSse([1]);
    const error = await failure(connectMcp({ transport: "sse", url }));
    expect(error.code).toBe("SERVER_START_FAILED");
    expect(error.hint).not.toContain("may or may not have taken effect");
  });

  it("a reconnect that breaks fails the waiting calls, and a later call reconnects", async () => {
    const { url, drop } = await serveSse([2]);
    const mcp = await connectMcp({ transport: "sse", url });
    const lost = nextEvent(mcp, "stateChanged");
    drop();
    expect(await lost).toMatchObject(["reconnecting", { code: "CONNECTION_LOST" }]);
    expect((await failure(mcp.listTools({ refresh: true }))).code).toBe("SERVER_START_FAILED");
    await expect.poll(() => mcp.listTools({ refresh: true }).catch(() => [])).toHaveLength(1);
    await mcp.close();
  });

  it("sends no request if the signal is aborted before", async () => {
    const server = await serve("legacy", {});
    const connecting = connectMcp({ transport: "sse", url: server.url, signal: AbortSignal.abort() });
    expect((await failure(connecting)).code).toBe("CANCELLED");
    expect(server.seen).toEqual([]);
  });
});

describe("WebSocket", () => {
  it("the signal of connectMcp() does not affect the open connection", async () => {
    const server = await started(startWsServer({ era: "modern" }));
    const start = new AbortController();
    const mcp = await connectUrl(server.url, { signal: start.signal });
    const states: string[] = [];
    mcp.on("stateChanged", (state) => states.push(state));
    const call = mcp.callTool("slow", { ms: 200 });
    start.abort();
    expect((await call).text).toContain("done");
    expect(states).toEqual([]);
  });

  it("is closed with code 1000", async () => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => "mcp" });
    await once(server, "listening");
    const closed = new Promise<number>((resolve) => {
      server.on("connection", (socket) => {
        socket.on("message", (data: Buffer) => {
          const { id } = JSON.parse(data.toString()) as { id?: number };
          if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: DISCOVER }));
        });
        socket.once("close", resolve);
      });
    });
    const mcp = await connectUrl(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await mcp.close();
    expect(await closed).toBe(1000);
    server.close();
  });
});
