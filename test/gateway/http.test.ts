// The gateway over HTTP: sessions of legacy clients, status codes, limits, access, and stopping.

import { describe, expect, it } from "vitest";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { started, until } from "../helpers/connect.ts";
import { INITIALIZE, serve } from "../helpers/http.ts";
import { type Exchange, type Loose, RawHttp, RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import { openTestGateway, person, runsFile, secretsIn, stdioServer, TOKEN } from "../helpers/raw-gateways.ts";

const ECHO = { name: "mcp_one_echo", arguments: { text: "hi" } };
const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function setUp(settings: Parameters<typeof openTestGateway>[1] = {}) {
  const runs = runsFile();
  const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
  const opened = await openTestGateway(
    [{ alias: "one", endpoint: { transport: "http", url: server.url } }],
    settings,
  );
  return { ...opened, runs, server };
}

async function done(exchange: Exchange): Promise<Exchange> {
  await exchange.over;
  return exchange;
}

const hang = (id: string): object => ({ name: "mcp_one_hang", arguments: { id } });

describe("a session of a legacy client", () => {
  const callers = [{ name: "other", token: "the-token-of-other" }];

  it("starts with initialize, works for its caller and path only, and ends with DELETE", async () => {
    const { url, runs } = await setUp({ callers });
    const client = await RawLegacy.open(url, { token: TOKEN, revision: "2025-06-18" });
    expect(client.greeting.result).toMatchObject({
      protocolVersion: "2025-06-18",
      serverInfo: { name: "portolan" },
      capabilities: { tools: { listChanged: true }, logging: {} },
    });
    expect(
      (await RawLegacy.open(url, { token: TOKEN, revision: "1999-01-01" })).greeting.result,
    ).toMatchObject({
      protocolVersion: "2025-11-25",
    });
    expect((await client.call("ping")).result).toEqual({});
    const strangers = [
      new RawLegacy(url, { token: "the-token-of-other" }),
      new RawLegacy(url, { token: TOKEN, path: "/servers/one/mcp" }),
    ];
    for (const stranger of strangers) {
      stranger.session = client.session;
      for (const exchange of [stranger.post("ping"), stranger.end(), await stranger.listen()])
        expect((await done(exchange)).status).toBe(404);
    }
    const { "mcp-session-id": _session, ...headers } = client.headers;
    for (const exchange of [
      client.send("POST", headers, { jsonrpc: "2.0", id: 1, method: "ping" }),
      client.send("GET", { ...headers, accept: "text/event-stream" }),
      client.send("DELETE", headers),
    ])
      expect((await done(exchange)).status).toBe(400);
    client.post("tools/call", hang("open"));
    const stream = await client.listen();
    await until(() => runs.called("open") === 1);
    expect((await done(client.end())).status).toBe(204);
    await stream.over;
    expect(stream.broken).toBe(false);
    await until(() => runs.cancelled("open") === 1);
    const refused = await done(client.post("ping"));
    expect([refused.status, refused.json.error.code]).toEqual([404, -32001]);
  });

  it("resumes a broken stream: the server request and the result arrive once each", async () => {
    const { url, runs } = await setUp();
    const who = person("me");
    const client = await RawLegacy.open(url, { token: TOKEN });
    const broken = client.post("tools/call", { name: "mcp_one_ask_own", arguments: { id: "me" } }, "call");
    const question = await broken.find(({ method }) => method === "elicitation/create");
    const [primed, seen] = broken.eventIds as [string, string];
    broken.destroy();
    await broken.over;
    // A client that saw no event gets all events; one that saw the server request gets the events after it.
    const fromStart = await client.listen(primed);
    expect((await fromStart.find(({ method }) => method !== undefined)).id).toBe(question.id);
    const resumed = await client.listen(seen);
    await fromStart.over;
    client.respond(
      question.id,
      who.answer({ method: "elicitation/create", params: question.params }) as object,
    );
    expect(secretsIn(textOf(await resumed.answer("call")))).toEqual([who.secret]);
    await resumed.over;
    expect(resumed.messages).toHaveLength(1);
    expect(fromStart.messages).toHaveLength(1);
    const after = await client.listen(resumed.eventIds.at(-1));
    await after.over;
    expect(after.messages).toEqual([]);
    expect(runs.called("me")).toBe(1);
    expect(runs.cancelled("me")).toBe(0);
    expect((await client.call("ping")).result).toEqual({});
  });

  it("keeps a result that the client did not receive because its stream broke", async () => {
    const { url, runs } = await setUp();
    const client = await RawLegacy.open(url, { token: TOKEN });
    const call = { name: "mcp_one_slow", arguments: { id: "me", ms: 300 }, _meta: { progressToken: 1 } };
    const broken = client.post("tools/call", call, "call");
    await broken.find(({ method }) => method === "notifications/progress");
    const seen = broken.eventIds.at(-1);
    broken.destroy();
    const again = await client.listen(seen);
    expect((await again.answer("call")).result.content[0].text).toBe("done after 300 ms");
    expect(again.messages.filter(({ id }) => id === "call")).toHaveLength(1);
    expect(runs.called("me")).toBe(1);
  });

  it("ends after the idle time, but not while the client uses it", async () => {
    const { url, server, runs } = await setUp({ limits: { sessionIdleMs: 1_000 } });
    const [idle, busy, listening] = [
      await RawLegacy.open(url, { token: TOKEN }),
      await RawLegacy.open(url, { token: TOKEN }),
      await RawLegacy.open(url, { token: TOKEN }),
    ];
    busy.post("tools/call", hang("busy"));
    const stream = await listening.listen();
    await idle.call("resources/subscribe", { uri: "test://static-text" });
    // The subscriptions of an ended session are released.
    await until(() => server.stats.requests["resources/unsubscribe"] === 1);
    expect((await done(idle.post("ping"))).status).toBe(404);
    expect((await done(busy.post("ping"))).status).toBe(200);
    expect((await done(listening.post("ping"))).status).toBe(200);
    expect(stream.ended).toBe(false);
    expect(runs.cancelled("busy")).toBe(0);
  });

  it("ends the oldest idle session to make room for a new one, never a session in use", async () => {
    const { url, runs } = await setUp({ limits: { sessions: 3 } });
    const open = (): Promise<RawLegacy> => RawLegacy.open(url, { token: TOKEN });
    const [busy, old, young] = [await open(), await open(), await open()];
    busy.post("tools/call", hang("busy"));
    await until(() => runs.called("busy") === 1);
    const fresh = await open();
    expect((await done(old.post("ping"))).status).toBe(404);
    for (const client of [busy, young, fresh]) expect((await done(client.post("ping"))).status).toBe(200);
    await young.listen();
    await fresh.listen();
    const refused = await done(new RawLegacy(url, { token: TOKEN }).initialize());
    expect(refused.status).toBe(503);
    expect(refused.messages).toMatchObject([{ error: { data: { code: "BUSY" } } }]);
    expect((await done(busy.post("ping"))).status).toBe(200);
  });

  it("accepts several messages in one body", async () => {
    const { url } = await setUp();
    const client = await RawLegacy.open(url, { token: TOKEN, revision: "2025-03-26" });
    const rpc = (id: number | undefined, method: string, params: object = {}): object => ({
      jsonrpc: "2.0",
      ...(id === undefined ? {} : { id }),
      method,
      params,
    });
    const batch = [
      rpc(1, "tools/call", ECHO),
      rpc(undefined, "notifications/progress", { progressToken: 1, progress: 1 }),
      rpc(2, "ping"),
      rpc(3, "nothing/such"),
    ];
    for (const accept of [JSON_TYPE.accept, "application/json", "text/event-stream"]) {
      const exchange = await done(client.send("POST", { ...client.headers, accept }, batch));
      expect(exchange.status).toBe(200);
      const byId = exchange.messages.toSorted((a, b) => Number(a.id) - Number(b.id));
      expect(byId.map(({ id }) => id)).toEqual([1, 2, 3]);
      expect(textOf(byId[0] ?? {})).toBe("hi");
      expect(byId[2]?.error).toMatchObject({ code: -32601 });
    }
    const again = [rpc(1, "initialize", { protocolVersion: "2025-03-26" }), rpc(2, "ping")];
    const twice = await done(client.send("POST", client.headers, again));
    expect((await twice.answer(1)).error).toMatchObject({ code: -32600 });
    expect((await twice.answer(2)).result).toEqual({});
    const notices = await done(client.send("POST", client.headers, [batch[1] as object]));
    expect([notices.status, notices.text]).toEqual([202, ""]);
    for (const bad of [[], [1], [batch[0], "x"], Array.from({ length: 101 }, (_, n) => rpc(n, "ping"))]) {
      const exchange = await done(client.send("POST", client.headers, bad));
      expect([exchange.status, exchange.json.error.code]).toEqual([400, -32600]);
    }
    const { "mcp-session-id": _session, ...headers } = client.headers;
    expect((await done(client.send("POST", headers, again))).status).toBe(400);
  });
});

describe("HTTP responses", () => {
  const modern = (
    url: string,
    change: (made: ReturnType<RawModern["request"]>) => Loose = (made) => made,
  ): Exchange => {
    const client = new RawModern(url, { token: TOKEN });
    const { headers, body } = change(client.request("tools/call", ECHO));
    return client.send("POST", headers, body);
  };

  it("have the right status and error code for each wrong request", async () => {
    const { url } = await setUp({ limits: { bodyBytes: 2_000 } });
    const client = new RawHttp(url, { token: TOKEN });
    const post = (body: string | object, headers: object = {}, path = "/mcp"): Exchange =>
      client.send("POST", { ...JSON_TYPE, ...headers }, body, path);
    const meta = (made: Loose, name: string, value: unknown): Loose => {
      made.body.params._meta[`io.modelcontextprotocol/${name}`] = value;
      return made;
    };
    const cases: [string, Exchange, number, number | undefined][] = [
      ["bad JSON", post("{nonsense"), 400, -32700],
      ["nothing", post(""), 400, -32700],
      ["no message", post({ hello: 1 }), 400, -32600],
      ["null", post("null"), 400, -32600],
      ["another type", post("{}", { "content-type": "text/plain" }), 415, -32600],
      ["no type", client.send("POST", { accept: "*/*" }, "{}"), 415, -32600],
      ["accepts pictures", post("{}", { accept: "image/png" }), 406, -32600],
      ["too large", post("x".repeat(3_000)), 413, -32600],
      ["too large, in chunks", post("x".repeat(3_000), { "transfer-encoding": "chunked" }), 413, -32600],
      ["unknown path", post("{}", {}, "/elsewhere"), 404, -32600],
      ["unknown server", post("{}", {}, "/servers/none/mcp"), 404, -32600],
      ["unknown tag", post("{}", {}, "/tags/none/mcp"), 404, -32600],
      ["a path that is no text", post("{}", {}, "/servers/%ff/mcp"), 404, -32600],
      [
        "SSE, which is off",
        client.send("GET", { accept: "text/event-stream" }, undefined, "/sse"),
        404,
        -32600,
      ],
      ["PUT", client.send("PUT", JSON_TYPE, "{}"), 405, -32600],
      ["no session", post({ jsonrpc: "2.0", id: 1, method: "ping" }), 400, -32600],
      ["GET of JSON", client.send("GET", { accept: "application/json" }), 406, -32600],
      ["modern", modern(url), 200, undefined],
      [
        "modern, another method in the header",
        modern(url, ({ headers, body }) => ({ headers: { ...headers, "mcp-method": "ping" }, body })),
        400,
        -32020,
      ],
      [
        "modern, another name in the header",
        modern(url, ({ headers, body }) => ({ headers: { ...headers, "mcp-name": "x" }, body })),
        400,
        -32020,
      ],
      [
        "modern, a null id",
        modern(url, ({ headers, body }) => ({ headers, body: { ...body, id: null } })),
        400,
        -32600,
      ],
      [
        "modern, unknown method",
        modern(url, ({ headers, body }) => ({
          headers: { ...headers, "mcp-method": "no/such" },
          body: { ...body, method: "no/such" },
        })),
        404,
        -32601,
      ],
      [
        "modern, ping",
        modern(url, ({ headers, body }) => ({
          headers: { ...headers, "mcp-method": "ping" },
          body: { ...body, method: "ping" },
        })),
        404,
        -32601,
      ],
      [
        "modern, unknown revision",
        modern(url, (made) =>
          meta(
            { ...made, headers: { ...made.headers, "mcp-protocol-version": "2031-01-01" } },
            "protocolVersion",
            "2031-01-01",
          ),
        ),
        400,
        -32022,
      ],
      [
        "modern, no capabilities",
        modern(url, (made) => meta(made, "clientCapabilities", undefined)),
        400,
        -32602,
      ],
      ["modern, no such level", modern(url, (made) => meta(made, "logLevel", "loud")), 400, -32602],
    ];
    for (const [what, exchange, status, code] of cases) {
      await exchange.over;
      expect([what, exchange.status, exchange.json.error?.code]).toEqual([what, status, code]);
    }
    expect(cases.find(([what]) => what === "PUT")?.[1].headers.allow).toContain("POST");
    const notice = await done(modern(url, ({ headers, body: { id: _id, ...body } }) => ({ headers, body })));
    expect([notice.status, notice.text]).toEqual([202, ""]);
  });

  it("are 401 or 403 without a valid token, origin or host; health checks need no token", async () => {
    const { url } = await setUp({ allowedOrigins: ["https://app.example"] });
    const ask = (headers: Record<string, string>, method = "POST", token?: string): Promise<Exchange> =>
      done(
        new RawModern(url, { token }).send(
          method,
          { ...JSON_TYPE, ...headers },
          method === "POST" ? "{}" : undefined,
        ),
      );
    const unknown = await ask({});
    expect([unknown.status, unknown.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    const wrong = await ask({}, "POST", "not-the-token");
    expect([wrong.status, wrong.headers["www-authenticate"]]).toEqual([401, 'Bearer error="invalid_token"']);
    expect((await ask({ host: "evil.example" }, "POST", TOKEN)).status).toBe(403);
    expect((await ask({ origin: "https://evil.example" }, "POST", TOKEN)).status).toBe(403);
    expect((await ask({ origin: "null" }, "POST", TOKEN)).status).toBe(403);
    const wants = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, mcp-param-x, cookie",
    };
    expect((await ask({ origin: "https://evil.example", ...wants }, "OPTIONS")).status).toBe(403);
    const allowed = await ask({ origin: "https://app.example", ...wants }, "OPTIONS");
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      "access-control-allow-origin": "https://app.example",
      "access-control-allow-headers": "authorization, mcp-param-x",
    });
    const answered = await ask({ origin: "https://app.example" }, "POST", TOKEN);
    expect([answered.status, answered.headers["access-control-allow-origin"]]).toEqual([
      400,
      "https://app.example",
    ]);
    const client = new RawHttp(url);
    const health = await done(client.send("GET", {}, undefined, "/healthz"));
    expect([health.status, health.json]).toEqual([200, { status: "ok" }]);
    const ready = await done(client.send("GET", {}, undefined, "/readyz"));
    expect([ready.status, ready.json]).toMatchObject([200, { ready: true, servers: { up: 1, down: 0 } }]);
    expect((await done(client.send("GET", { host: "evil.example" }, undefined, "/healthz"))).status).toBe(
      403,
    );
  });

  it("of /readyz are 503 when no server is up", async () => {
    const { url } = await openTestGateway([stdioServer("one", ["--fault=exit-at-start"])]);
    const ready = await done(new RawHttp(url).send("GET", {}, undefined, "/readyz"));
    expect([ready.status, ready.json]).toMatchObject([503, { ready: false, servers: { up: 0, down: 1 } }]);
  });
});

describe("a server message that is nested too deep to be serialized", () => {
  const DEPTHS = [3_000, 4_500, 100_000];
  const nested = (message: object, depth: number): string =>
    JSON.stringify({ jsonrpc: "2.0", ...message }).replace('"@@"', "[".repeat(depth) + "]".repeat(depth));

  it.each(DEPTHS)("fails only its own call (%i levels)", async (depth) => {
    let tell = (_message: object): void => {};
    const server = await serve("legacy", {
      initialize: ({ json }) =>
        json({ ...INITIALIZE, capabilities: { tools: {}, logging: {} } }, { "mcp-session-id": "s" }),
      GET: ({ stream, response }) => {
        stream();
        tell = (message) => void response.write(`data: ${nested(message, depth)}\n\n`);
      },
      "tools/call": ({ response, id, params }) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const say = (message: object): void => void response.write(`data: ${nested(message, depth)}\n\n`);
        const { kind } = params.arguments as { kind: string };
        const log = { method: "notifications/message", params: { level: "error", data: "@@" } };
        if (kind === "log") say(log);
        if (kind === "question")
          return say({
            id: "q",
            method: "elicitation/create",
            params: { message: "?", requestedSchema: "@@" },
          });
        if (kind === "error") say({ id, error: { code: -32000, message: "no", data: "@@" } });
        else say({ id, result: { content: [], deep: kind === "result" ? "@@" : 1 } });
        response.end();
      },
    });
    const { url } = await openTestGateway([
      { alias: "one", endpoint: { transport: "http", url: server.url } },
    ]);
    const legacy = await RawLegacy.open(url, { token: TOKEN });
    const hears = await legacy.listen();
    await until(() => server.count("GET") > 0);
    tell({ method: "notifications/message", params: { level: "error", data: "@@" } });
    tell({ method: "notifications/message", params: { level: "error", data: "the last" } });
    await hears.find(({ params }) => params.data === "the last");
    const modern = new RawModern(url, { token: TOKEN, logLevel: "debug" });
    for (const client of [modern, legacy])
      for (const kind of ["log", "result", "error", ...(client === modern ? ["question"] : [])]) {
        const answer = await client.post("tools/call", { name: "mcp_one_t", arguments: { kind } }).answer();
        expect(answer.id, kind).toBeDefined();
      }
    expect((await modern.ask("tools/list")).result.tools).toHaveLength(1);
  });
});
