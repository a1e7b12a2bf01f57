// Isolation of callers: the tools that each sees, the limits of each, and the end of all when the gateway stops.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { started, until } from "../helpers/connect.ts";
import { event, INITIALIZE, serve } from "../helpers/http.ts";
import {
  answersTo,
  type Exchange,
  type Loose,
  RawHttp,
  RawLegacy,
  RawModern,
  textOf,
} from "../helpers/raw-clients.ts";
import {
  openTestGateway,
  person,
  runsFile,
  secretsIn,
  stdioServer,
  temporary,
  TOKEN,
} from "../helpers/raw-gateways.ts";

type Settings = NonNullable<Parameters<typeof openTestGateway>[1]>;

async function setUp(settings: Settings = {}) {
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

const call = (name: string, args: object = {}): object => ({ name: `mcp_one_${name}`, arguments: args });

describe.each(["modern", "legacy"] as const)("a caller with restricted access (%s)", (era) => {
  const open = (url: string, options: object): Promise<RawModern | RawLegacy> =>
    era === "modern" ? Promise.resolve(new RawModern(url, options)) : RawLegacy.open(url, options);

  async function setUpViews() {
    const resources = [{ uri: "hidden://r", name: "r" }];
    let tell = (_message: object): void => {};
    const hidden = await serve("legacy", {
      GET: ({ stream, response }) => {
        stream();
        tell = (message) => void response.write(event(message));
      },
      initialize: ({ json }) =>
        json(
          {
            ...INITIALIZE,
            capabilities: {
              tools: {},
              prompts: {},
              resources: { subscribe: true },
              completions: {},
              logging: {},
            },
            instructions: "the hidden instructions",
          },
          { "mcp-session-id": "s" },
        ),
      "prompts/list": ({ json }) => json({ prompts: [{ name: "p" }] }),
      "prompts/get": ({ json }) => json({ messages: [] }),
      "resources/list": ({ json }) => json({ resources }),
      "resources/templates/list": ({ json }) =>
        json({ resourceTemplates: [{ uriTemplate: "hidden://t/{id}", name: "t" }] }),
      "resources/read": ({ json, params }) => json({ contents: [{ uri: params.uri, text: "hidden" }] }),
      "resources/subscribe": ({ json }) => json({}),
      "completion/complete": ({ json }) => json({ completion: { values: ["hidden"] } }),
    });
    const { url } = await openTestGateway(
      [
        stdioServer("open", ["--era=legacy"], { tags: ["public"] }),
        { alias: "hidden", endpoint: { transport: "http", url: hidden.url }, tags: ["secret"] },
      ],
      {
        callers: [
          {
            name: "limited",
            token: "the-token-of-limited",
            allow: { tags: ["public"] },
            deny: { tools: ["open.fail"] },
          },
        ],
      },
      undefined,
      // Wait for all servers: a server that is ready later announces its lists.
      "all",
    );
    const before = hidden.seen.length;
    const change = (): void => {
      resources.push({ uri: "hidden://new", name: "new" });
      tell({ method: "notifications/message", params: { level: "error", data: "hidden words" } });
      tell({ method: "notifications/resources/updated", params: { uri: "test://static-text" } });
      tell({ method: "notifications/resources/list_changed" });
    };
    return { url, change, asked: () => hidden.seen.slice(before).map(({ name }) => name) };
  }

  it("gets the same error for a hidden tool, prompt or resource as for one that does not exist", async () => {
    const { url, asked } = await setUpViews();
    const limited = await open(url, { token: "the-token-of-limited" });
    const owner = await open(url, { token: TOKEN });
    const names = async (client: RawModern | RawLegacy, list: string, field: string): Promise<string> =>
      JSON.stringify((await client.call(list)).result[field]);
    for (const [list, field] of [
      ["tools/list", "tools"],
      ["prompts/list", "prompts"],
      ["resources/list", "resources"],
      ["resources/templates/list", "resourceTemplates"],
    ] as const) {
      expect(await names(owner, list, field)).toContain("hidden");
      expect(await names(limited, list, field)).not.toContain("hidden");
    }
    expect(await names(limited, "tools/list", "tools")).not.toContain("mcp_open_fail");
    const ref = (name: string) => ({ ref: { type: "ref/prompt", name }, argument: { name: "a", value: "" } });
    const pairs: [string, object, object, string, string][] = [
      ["tools/call", { name: "mcp_hidden_t" }, { name: "mcp_nobody_t" }, "hidden", "nobody"],
      ["tools/call", { name: "mcp_open_fail" }, { name: "mcp_open_liaf" }, "fail", "liaf"],
      ["prompts/get", { name: "mcp_hidden_p" }, { name: "mcp_nobody_p" }, "hidden", "nobody"],
      ["resources/read", { uri: "hidden://r" }, { uri: "nobody://r" }, "hidden", "nobody"],
      ["resources/read", { uri: "hidden://t/1" }, { uri: "nobody://t/1" }, "hidden", "nobody"],
      ["completion/complete", ref("mcp_hidden_p"), ref("mcp_nobody_p"), "hidden", "nobody"],
    ];
    for (const [method, hiddenParams, absentParams, hiddenWord, absentWord] of pairs) {
      const hidden = await limited.call(method, hiddenParams);
      const absent = await limited.call(method, absentParams);
      expect(hidden.error?.code, method).toBeLessThan(0);
      // Suggestions come only from the tools that the caller sees.
      const [{ hint }, { hint: _hint, ...data }] = [hidden.error?.data, absent.error?.data] as Loose[];
      expect(hint ?? "", method).not.toContain(hiddenWord);
      const text = JSON.stringify({ ...hidden.error, data: { ...hidden.error?.data, hint: undefined } });
      expect(text.replaceAll(hiddenWord, absentWord), method).toBe(JSON.stringify({ ...absent.error, data }));
    }
    // The server got no request.
    expect(asked()).toEqual([]);
    const said = era === "modern" ? await limited.call("server/discover") : (limited as RawLegacy).greeting;
    expect(JSON.stringify(said)).not.toContain("hidden");
  });

  it("gets no notifications of a hidden server", async () => {
    const { url, change } = await setUpViews();
    const streams = await Promise.all(
      ["the-token-of-limited", TOKEN].map(async (token) => {
        const client = await open(url, { token });
        const uris = ["test://static-text"];
        if (client instanceof RawLegacy) {
          for (const uri of uris) await client.call("resources/subscribe", { uri });
          return client.listen();
        }
        const all = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: uris };
        const stream = client.post("subscriptions/listen", { notifications: all });
        await stream.find(({ method }) => method !== undefined);
        return stream;
      }),
    );
    const [limited, owner] = streams as [Exchange, Exchange];
    change();
    await owner.find(({ method }) => method === "notifications/resources/list_changed");
    await new RawModern(url, { token: TOKEN }).tool("mcp_open_change_tools", { action: "add" });
    await limited.find(({ method }) => method === "notifications/tools/list_changed");
    const heard = limited.messages
      .map(({ method }) => method)
      .filter((method) => !method?.endsWith("/acknowledged"));
    expect(heard).toEqual(["notifications/tools/list_changed"]);
  });

  it("gets the same 404 for the address of a hidden server as for one that does not exist", async () => {
    const { url } = await setUpViews();
    for (const [hiddenPath, absentPath] of [
      ["/servers/hidden/mcp", "/servers/nidden/mcp"],
      ["/tags/secret/mcp", "/tags/necret/mcp"],
    ] as const) {
      const [hidden, absent] = await Promise.all(
        [hiddenPath, absentPath].map((path) => {
          const options = { token: "the-token-of-limited", path };
          return done(
            era === "modern"
              ? new RawModern(url, options).post("tools/list")
              : new RawLegacy(url, options).initialize(),
          );
        }),
      );
      expect(hidden?.status).toBe(404);
      expect(absent?.status).toBe(404);
      expect(
        hidden?.text.replace('"hidden"', '"nidden"').replace("hidden", "nidden").replace("secret", "necret"),
      ).toBe(absent?.text);
    }
    const owner = new RawModern(url, { token: TOKEN, path: "/servers/hidden/mcp" });
    expect((await owner.ask("tools/list")).result.tools).toHaveLength(1);
  });
});

it("tool rules of callers accept the offered name (mcp_one_echo) and alias.tool", async () => {
  const callers = [
    { name: "offered", token: "the-token-of-offered", allow: { tools: ["mcp_one_echo"] } },
    { name: "dotted", token: "the-token-of-dotted", allow: { tools: ["one.echo"] } },
    { name: "refused", token: "the-token-of-refused", deny: { tools: ["mcp_one_*"] } },
    { name: "denied", token: "the-token-of-denied", deny: { tools: ["mcp_one_fail"] } },
  ];
  const { url } = await setUp({ callers });
  const seen = async (name: string, path: string): Promise<unknown[]> => {
    const client = new RawModern(url, { token: `the-token-of-${name}`, path });
    const { status, json } = await done(client.post("tools/list"));
    if (status !== 200) return [status];
    const prompts = (await client.ask("prompts/list")).result.prompts.length;
    return [...json.result.tools.map((tool: Loose) => tool.name), `${prompts} prompts`];
  };
  for (const name of ["offered", "dotted"]) {
    expect(await seen(name, "/mcp"), name).toEqual(["mcp_one_echo", "2 prompts"]);
    expect(await seen(name, "/servers/one/mcp"), name).toEqual(["echo", "2 prompts"]);
  }
  expect(await seen("refused", "/mcp")).toEqual(["0 prompts"]);
  expect(await seen("refused", "/servers/one/mcp")).toEqual([404]);
  // A rule applies at every address.
  expect(await seen("denied", "/servers/one/mcp")).not.toContain("fail");
  const denied = new RawModern(url, { token: "the-token-of-denied", path: "/servers/one/mcp" });
  expect((await denied.tool("fail")).error).toMatchObject({ code: -32602 });
});

describe("limits of a caller", () => {
  it("rate: a refusal has Retry-After, and answers to server requests do not count", async () => {
    const { url } = await setUp({
      callers: [
        { name: "fast", token: "the-token-of-fast", limits: { rate: { perSecond: 0.01, burst: 4 } } },
      ],
    });
    const options = { token: "the-token-of-fast" };
    const who = person("me");
    const client = await RawLegacy.open(url, { ...options, answer: who.answer });
    const asked = client.post("tools/call", call("ask_own", { id: "me", rounds: 3 }));
    expect(secretsIn(textOf(await asked.answer()))).toHaveLength(3);
    expect((await done(client.post("ping"))).status).toBe(200);
    const refused = await done(client.post("ping"));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(50);
    expect(refused.json.error).toMatchObject({ data: { code: "RATE_LIMITED" } });
    // The limit belongs to one caller: others continue.
    expect((await new RawModern(url, { token: TOKEN }).ask("tools/list")).error).toBeUndefined();
  });

  it("concurrency: counts running calls, not calls that wait for an answer of the client", async () => {
    const { url, runs } = await setUp({
      callers: [{ name: "few", token: "the-token-of-few", limits: { concurrency: 1 } }],
    });
    const who = person("me");
    const client = new RawModern(url, { token: "the-token-of-few", answer: who.answer });
    const params = call("ask_own", { id: "me" });
    const first = await client.ask("tools/call", params);
    expect(first.result.resultType).toBe("input_required");
    const listening = client.post("subscriptions/listen", { notifications: { toolsListChanged: true } });
    await listening.find(({ method }) => method !== undefined);
    const hanging = client.post("tools/call", call("hang", { id: "held" }));
    await until(() => runs.called("held") === 1);
    const refused = await done(client.post("tools/list"));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    hanging.destroy();
    await until(() => runs.cancelled("held") === 1);
    const end = await client.ask("tools/call", { ...params, ...answersTo(first.result, who.answer) });
    expect(secretsIn(textOf(end))).toEqual([who.secret]);
  });

  it("F36: a client that does not read is disconnected, its call is cancelled, others continue", async () => {
    const { url, runs } = await setUp();
    const slow = new RawModern(url, { token: TOKEN, logLevel: "info" });
    const flood = call("burst", { id: "flood", count: 20_000, bytes: 64 * 1024 });
    const stalled = slow.post("tools/call", flood);
    await stalled.head;
    stalled.stopReading();
    const other = new RawModern(url, { token: TOKEN, logLevel: "info" });
    const heard = other.post("tools/call", call("burst", { id: "other", count: 50, bytes: 10 }));
    expect((await heard.answer()).result.content[0].text).toBe("burst over");
    expect(heard.notices("notifications/message")).toHaveLength(50);
    // Its call is cancelled with it.
    await until(() => runs.cancelled("flood") === 1);
    expect((await other.ask("tools/call", call("echo", { text: "still here" }))).result.content[0].text).toBe(
      "still here",
    );
  });
});

describe("closing a gateway", () => {
  it("lets running calls finish, refuses new ones, ends the streams and the server processes", async () => {
    const server = stdioServer("one", ["--era=legacy"]);
    const { url, gateway } = await openTestGateway([server]);
    const modern = new RawModern(url, { token: TOKEN });
    const legacy = await RawLegacy.open(url, { token: TOKEN });
    const [listening, standing] = [
      modern.post("subscriptions/listen", { notifications: { toolsListChanged: true } }),
      await legacy.listen(),
    ];
    await listening.find(({ method }) => method !== undefined);
    const args = call("slow", { ms: 800, every: 100 });
    const running = [modern, legacy].map((client) =>
      client.post("tools/call", { ...args, _meta: { progressToken: 1 } }),
    );
    for (const exchange of running) await exchange.find(({ method }) => method === "notifications/progress");
    // A connection that was open before can still send a request, and gets 503.
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
    const began = performance.now();
    const closed = gateway.close();
    const { headers, body } = modern.request("tools/list");
    const text = JSON.stringify(body);
    const lines = {
      host: new URL(url).host,
      authorization: `Bearer ${TOKEN}`,
      "content-length": text.length,
      ...headers,
    };
    let said = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
    socket.write(
      `POST /mcp HTTP/1.1\r\n${Object.entries(lines)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n${text}`,
    );
    await until(() => said.includes("\r\n\r\n"));
    expect(said).toMatch(/^HTTP\/1\.1 503 /);
    expect((await listening.answer()).result).toMatchObject({ resultType: "complete" });
    for (const exchange of running)
      expect((await exchange.answer()).result.content[0].text).toBe("done after 800 ms");
    await closed;
    expect(performance.now() - began).toBeLessThan(15_000);
    await standing.over;
    const late = await done(new RawModern(url, { token: TOKEN }).post("tools/list"));
    expect([late.status, late.broken]).toEqual([0, true]);
    if (process.platform === "linux") expect(server.pids()).toEqual([]);
  });

  it("fails the calls that do not finish in time, and cancels the suspended ones", async () => {
    const { url, gateway, runs } = await setUp();
    const modern = new RawModern(url, { token: TOKEN });
    const legacy = await RawLegacy.open(url, { token: TOKEN });
    const running = [modern, legacy].map((client, n) =>
      client.post("tools/call", call("hang", { id: `held ${n}` })),
    );
    const suspended = await modern.ask("tools/call", call("ask_own", { id: "suspended" }));
    expect(suspended.result.resultType).toBe("input_required");
    await until(() => runs.called("held 0") + runs.called("held 1") === 2);
    const began = performance.now();
    const closed = gateway.close();
    // A new connection, as a load balancer would open.
    const ready = await done(new RawHttp(url).send("GET", {}, undefined, "/readyz"));
    expect([ready.status, ready.json]).toMatchObject([503, { ready: false, stopping: true }]);
    await closed;
    expect(performance.now() - began).toBeLessThan(15_000);
    for (const exchange of running)
      expect((await exchange.answer()).error).toMatchObject({
        message: expect.stringContaining("the gateway is stopping") as string,
        data: { code: "CONNECTION_CLOSED", server: "one" },
      });
    await until(() => runs.cancelled("suspended") === 1);
  });
});

it("serves HTTPS with the configured certificate", async () => {
  const folder = fileURLToPath(new URL("../fixtures/tls/", import.meta.url));
  const { url } = await setUp({ tls: { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") } });
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const modern = new RawModern(url, { token: TOKEN });
  expect((await modern.tool("mcp_one_echo", { text: "safe" })).result.content[0].text).toBe("safe");
  const legacy = await RawLegacy.open(url, { token: TOKEN });
  expect((await legacy.tool("mcp_one_echo", { text: "safe" })).result.content[0].text).toBe("safe");
  const plain = await done(
    new RawHttp(url.replace("https:", "http:")).send("GET", {}, undefined, "/healthz"),
  );
  expect(plain.broken).toBe(true);
});

/** The child processes of this process, and their children. */
function descendants(): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // The process has ended already.
    }
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOurs(parents.get(pid)));
  return [...parents.keys()].filter((pid) => pid !== process.pid && isOurs(pid)).toSorted((a, b) => a - b);
}

it.runIf(process.platform === "linux")(
  "no request to any address can start a process or open a connection",
  async () => {
    const target = createServer((_request, response) => response.writeHead(500).end());
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void target.close());
    let reached = 0;
    target.on("connection", () => (reached += 1));
    const elsewhere = `http://127.0.0.1:${(target.address() as AddressInfo).port}/mcp`;
    const folder = temporary();
    const mark = join(folder, "ran");
    const { url } = await openTestGateway([stdioServer("one", ["--era=legacy"])], {
      transports: { sse: true, websocket: true },
    });
    const server = { command: "touch", args: [mark], transport: "stdio", url: elsewhere };
    const hostile: [string, Loose][] = [
      ...[
        "servers/add",
        "hub/add",
        "config/set",
        "portolan/serve",
        "initialize",
        "ping",
        "logging/setLevel",
      ].map((method): [string, Loose] => [
        method,
        { ...server, server, servers: { x: server }, mcpServers: { x: server } },
      ]),
      ["tools/call", { name: "touch", arguments: { command: `touch ${mark}` }, server }],
      ["tools/call", { name: `mcp_$(touch ${mark})_x`, arguments: {} }],
      ["resources/read", { uri: `file://${mark}` }],
      ["resources/read", { uri: elsewhere }],
      ["resources/subscribe", { uri: elsewhere }],
      ["prompts/get", { name: "__proto__", arguments: { constructor: server } }],
      [
        "completion/complete",
        { ref: { type: "ref/resource", uri: elsewhere }, argument: { name: "a", value: `;touch ${mark}` } },
      ],
      ["tasks/get", { taskId: `one.;touch ${mark}` }],
    ];
    const legacy = await RawLegacy.open(url, { token: TOKEN });
    const modern = new RawModern(url, { token: TOKEN });
    const before = descendants();
    expect(before).toHaveLength(1);
    const paths = [
      "/mcp",
      "/servers/one/mcp",
      "/servers/x/mcp",
      "/tags/x/mcp",
      "/sse",
      "/messages",
      "/healthz",
      "/readyz",
      "/servers",
      "/",
      "/.well-known/oauth-protected-resource",
    ];
    const sent: Exchange[] = [];
    for (const [method, params] of hostile) {
      sent.push(legacy.post(method, params), modern.post(method, params));
      for (const path of paths)
        for (const verb of ["POST", "PUT", "PATCH", "DELETE"])
          sent.push(
            modern.send(
              verb,
              { "content-type": "application/json" },
              { jsonrpc: "2.0", id: 1, method, params, ...server },
              path,
            ),
          );
    }
    await Promise.all(sent.map((exchange) => exchange.over));
    for (const exchange of sent) expect(exchange.status).toBeGreaterThanOrEqual(200);
    expect(descendants()).toEqual(before);
    expect(existsSync(mark)).toBe(false);
    expect(reached).toBe(0);
    expect((await modern.tool("mcp_one_echo", { text: "well" })).result.content[0].text).toBe("well");
  },
);
