// Clients of both eras with servers of both eras, over stdio and HTTP: every pair supports the same operations.

import { describe, expect, it } from "vitest";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { started, until } from "../helpers/connect.ts";
import { DISCOVER, serve } from "../helpers/http.ts";
import {
  ALL_CAPABILITIES,
  answersTo,
  type Exchange,
  type Loose,
  RawLegacy,
  RawModern,
  textOf,
} from "../helpers/raw-clients.ts";
import {
  openTestGateway,
  person,
  type Runs,
  runsFile,
  secretsIn,
  stdioServer,
  TOKEN,
} from "../helpers/raw-gateways.ts";

type Era = "legacy" | "modern";
type Client = RawModern | RawLegacy;

const PAIRS = (["modern", "legacy"] as const).flatMap((front) =>
  (["modern", "legacy"] as const).flatMap((back) =>
    (["stdio", "http"] as const).map((transport) => ({ front, back, transport })),
  ),
);

interface SetUp {
  readonly url: string;
  readonly runs: Runs;
  /** The requests that the server has received. */
  readonly stats: () => Promise<Loose>;
}

async function setUp(back: Era, transport: "stdio" | "http", flags: string[] = []): Promise<SetUp> {
  const runs = runsFile();
  const server =
    transport === "stdio"
      ? stdioServer("one", [`--era=${back}`, `--runs=${runs.file}`, ...flags])
      : {
          alias: "one",
          endpoint: {
            transport: "http",
            url: (await started(startHttpServer({ era: back, runs: runs.file }))).url,
          } as const,
        };
  const { url } = await openTestGateway([server]);
  const client = new RawModern(url, { token: TOKEN });
  return { url, runs, stats: async () => textOf(await client.tool("mcp_one_stats")) };
}

function open(front: Era, url: string, options: object = {}): Promise<Client> {
  const all = { token: TOKEN, ...options };
  return front === "modern" ? Promise.resolve(new RawModern(url, all)) : RawLegacy.open(url, all);
}

const call = (client: Client, name: string, args: object = {}, more: object = {}): Exchange =>
  client.post("tools/call", { name: `mcp_one_${name}`, arguments: args, ...more });

/** Opens the stream on which a client gets notifications that belong to no request. */
async function hear(client: Client, notifications: object): Promise<Exchange> {
  if (client instanceof RawLegacy) {
    const { resourceSubscriptions: uris = [] } = notifications as { resourceSubscriptions?: string[] };
    for (const uri of uris) expect((await client.call("resources/subscribe", { uri })).result).toEqual({});
    return client.listen();
  }
  const stream = client.post("subscriptions/listen", { notifications });
  await stream.find(({ method }) => method === "notifications/subscriptions/acknowledged");
  return stream;
}

describe.each(PAIRS)("$front client, $back server over $transport", ({ front, back, transport }) => {
  it("lists and calls tools, reads resources, gets prompts and completes arguments", async () => {
    const { url } = await setUp(back, transport);
    const client = await open(front, url);
    const { result: tools } = await client.call("tools/list");
    expect(tools.tools.map(({ name }: Loose) => name)).toContain("mcp_one_echo");
    expect(tools.tools.find(({ name }: Loose) => name === "mcp_one_echo").annotations).toEqual({
      readOnlyHint: true,
      idempotentHint: true,
    });
    const { result } = await client.tool("mcp_one_echo", { text: "héllo 🧭" });
    expect(result.content).toEqual([{ type: "text", text: "héllo 🧭" }]);
    expect(result.resultType).toBe(front === "modern" || back === "modern" ? "complete" : undefined);
    expect((await client.tool("mcp_one_fail", {})).result).toMatchObject({ isError: true });
    expect((await client.tool("mcp_one_nothing", {})).error).toMatchObject({ code: -32602 });
    expect(
      (await client.call("resources/read", { uri: "test://static-text" })).result.contents,
    ).toMatchObject([{ uri: "test://static-text", mimeType: "text/plain" }]);
    expect((await client.call("resources/read", { uri: "test://nowhere" })).error?.code).toBe(
      front === "modern" ? -32602 : back === "modern" ? -32602 : -32002,
    );
    const city = { name: "mcp_one_with_args", arguments: { city: "Rome" } };
    expect(JSON.stringify((await client.call("prompts/get", city)).result.messages)).toContain("in Rome?");
    const completion = {
      ref: { type: "ref/prompt", name: "mcp_one_with_args" },
      argument: { name: "city", value: "Pa" },
    };
    expect((await client.call("completion/complete", completion)).result.completion.values).toEqual([
      "Paris",
      "Parma",
    ]);
    expect((await client.call("nothing/such")).error).toMatchObject({ code: -32601 });
  });

  it("gets progress with the client's token, and log messages from the requested level on", async () => {
    const { url } = await setUp(back, transport);
    const client = await open(front, url, { logLevel: "warning" });
    if (client instanceof RawLegacy) await client.call("logging/setLevel", { level: "warning" });
    const slow = call(client, "slow", { ms: 600, every: 20 }, { _meta: { progressToken: "own token" } });
    await slow.answer();
    const progress = slow.notices("notifications/progress");
    expect(progress.length).toBeGreaterThan(1);
    expect(new Set(progress.map(({ progressToken }) => progressToken))).toEqual(new Set(["own token"]));
    expect(progress[0]).toMatchObject({ total: 600, message: "working" });
    // Without a progress token there is no progress.
    const quiet = call(client, "slow", { ms: 60, every: 20 });
    await quiet.answer();
    expect(quiet.notices("notifications/progress")).toEqual([]);
    const logs = async (level: string): Promise<Loose[]> => {
      const logging = call(client, "log", { level, message: `at ${level}` });
      await logging.answer();
      return logging.notices("notifications/message");
    };
    expect(await logs("info")).toEqual([]);
    expect(await logs("error")).toEqual([{ level: "error", logger: "fixture", data: "at error" }]);
    // A modern client without a log level gets no log messages, whatever other clients request.
    const silent = new RawModern(url, { token: TOKEN });
    const logging = call(silent, "log", { level: "emergency" });
    await logging.answer();
    expect(logging.messages).toHaveLength(1);
  });

  it("cancels the call at the server when the client cancels it", async () => {
    const { url, runs } = await setUp(back, transport);
    const client = await open(front, url);
    const other = call(client, "slow", { id: "goes on", ms: 250 });
    const hanging =
      client instanceof RawLegacy
        ? client.post("tools/call", { name: "mcp_one_hang", arguments: { id: "given up" } }, "mine")
        : call(client, "hang", { id: "given up" });
    await until(() => runs.called("given up") === 1);
    if (client instanceof RawLegacy) client.notify("notifications/cancelled", { requestId: "mine" });
    else hanging.destroy();
    await until(() => runs.cancelled("given up") === 1);
    expect((await other.answer()).result.content[0].text).toBe("done after 250 ms");
    expect(runs.cancelled("goes on")).toBe(0);
  });

  it("sends the server's requests to the client, in several rounds and several at once", async () => {
    const { url } = await setUp(back, transport);
    const who = person("me");
    const client = await open(front, url, { answer: who.answer });
    for (const kind of ["form", "sample", "roots"]) {
      const end = await client.tool("mcp_one_ask_own", { id: "me", rounds: 2, at_once: 2, kind });
      expect(secretsIn(textOf(end))).toEqual(Array.from({ length: 4 }, () => who.secret));
    }
    const city = { name: "mcp_one_with_args", arguments: { city: "ask" } };
    const prompted = await open(front, url, {
      answer: () => ({ action: "accept", content: { city: "Oslo" } }),
    });
    expect(JSON.stringify((await prompted.call("prompts/get", city)).result)).toContain("in Oslo?");
    const read = await open(front, url, { answer: () => ({ action: "accept", content: { id: "77" } }) });
    const uri = "test://template/ask/data";
    expect((await read.call("resources/read", { uri })).result.contents[0].text).toBe('{"id":"77"}');
    expect(who.strange).toEqual([]);
  });

  it("reports the capability that the client lacks for a server request", async () => {
    const { url } = await setUp(back, transport);
    const client = await open(front, url, { capabilities: {} });
    const { error, result } = await client.tool("mcp_one_ask_own", { id: "me", kind: "sample" });
    if (front === "modern")
      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    else if (back === "modern") expect(error).toMatchObject({ code: -32021 });
    else expect(result ?? error).toBeDefined();
    const form = await open(front, url, { capabilities: { sampling: {} } });
    const declined = await form.tool("mcp_one_ask_own", { id: "me" });
    // If a legacy client has its own session, the server checks the client's capabilities.
    if (back === "legacy" && front === "legacy" && transport === "http")
      expect(declined.error?.message).toContain("Client lacks");
    // A legacy server accepts a declined request; a modern server needs the error.
    else if (back === "legacy") expect(textOf(declined).answers.r1q1).toEqual({ action: "decline" });
    else expect(declined.error).toMatchObject({ code: -32021 });
  });

  it("notifies the client of changed lists and resources that it subscribed to", async () => {
    const { url } = await setUp(back, transport);
    const client = await open(front, url);
    const worker = new RawModern(url, { token: TOKEN });
    const uri = "test://static-text";
    const stream = await hear(client, {
      toolsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [uri],
    });
    await worker.tool("mcp_one_touch_resource", { uri: "test://static-binary" });
    await worker.tool("mcp_one_touch_resource", { uri });
    const { params } = await stream.find(({ method }) => method === "notifications/resources/updated");
    expect(params.uri).toBe(uri);
    await worker.tool("mcp_one_change_tools", { action: "add" });
    await stream.find(({ method }) => method === "notifications/tools/list_changed");
    const { result } = await client.call("tools/list");
    expect(result.tools.some(({ name }: Loose) => name.startsWith("mcp_one_added_"))).toBe(true);
    expect(stream.notices("notifications/resources/updated")).toHaveLength(1);
    expect(stream.notices("notifications/prompts/list_changed")).toEqual([]);
    if (client instanceof RawLegacy) {
      expect((await client.call("resources/unsubscribe", { uri })).result).toEqual({});
      await worker.tool("mcp_one_touch_resource", { uri });
    } else {
      const [acknowledged] = stream.messages;
      expect(acknowledged).toMatchObject({
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { toolsListChanged: true, resourceSubscriptions: [uri] } },
      });
      const ids = stream.messages.map((message) => message.params._meta[SUBSCRIPTION]);
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).toBeDefined();
      stream.destroy();
    }
    const before = stream.notices("notifications/tools/list_changed").length;
    const later = client instanceof RawLegacy ? stream : await hear(client, { toolsListChanged: true });
    await worker.tool("mcp_one_change_tools", { action: "redefine" });
    await later.find(
      () => later.notices("notifications/tools/list_changed").length > (later === stream ? before : 0),
    );
    expect(later.notices("notifications/resources/updated")).toHaveLength(later === stream ? 1 : 0);
  });
});

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

describe("server requests of a modern server", () => {
  it("need no state in the gateway for a modern client: any gateway can serve the retry", async () => {
    const server = await started(startHttpServer({ era: "modern", runs: runsFile().file }));
    const servers = [{ alias: "one", endpoint: { transport: "http", url: server.url } as const }];
    const [first, second] = [await openTestGateway(servers), await openTestGateway(servers)];
    const who = person("me");
    const params = { name: "mcp_one_ask_own", arguments: { id: "me", at_once: 2 } };
    const { result } = await new RawModern(first.url, { token: TOKEN }).ask("tools/call", params);
    expect(Object.keys(result.inputRequests)).toEqual(["r1q1", "r1q2"]);
    await first.gateway.close();
    const other = new RawModern(second.url, { token: TOKEN });
    // The fixture requires a new request id for a retry; without these calls, both gateways may use the same id.
    for (let n = 0; n < 50; n += 1) await other.tool("mcp_one_echo", { text: "on" });
    const end = await other.ask("tools/call", { ...params, ...answersTo(result, who.answer) });
    expect(secretsIn(textOf(end))).toEqual([who.secret, who.secret]);
  });

  it("to a legacy client end with an error after too many rounds", async () => {
    const { url } = await setUp("modern", "http");
    const client = await RawLegacy.open(url, {
      token: TOKEN,
      answer: () => ({ action: "accept", content: { name: "me" } }),
    });
    const { error } = await client.tool("mcp_one_ask_form", { variant: "endless" });
    expect(error).toMatchObject({ data: { code: "TOO_MANY_ROUNDS" } });
    expect(client.asked.length).toBeLessThanOrEqual(10);
  });
});

describe("notifications that belong to one client", () => {
  it.each(["stdio", "http"] as const)("log messages do not reach another client (%s)", async (transport) => {
    const { url } = await setUp("legacy", transport);
    const bob = await RawLegacy.open(url, { token: TOKEN });
    await bob.call("logging/setLevel", { level: "debug" });
    const hears = await bob.listen();
    const alice = new RawModern(url, { token: TOKEN });
    await call(alice, "log", { level: "error", message: "alice's secret" }).answer();
    const noStream = alice.request("tools/call", {
      name: "mcp_one_log",
      arguments: { message: "another secret" },
    });
    await alice.send("POST", { ...noStream.headers, accept: "application/json" }, noStream.body).answer();
    const legacy = await RawLegacy.open(url, { token: TOKEN });
    await legacy
      .send(
        "POST",
        { ...legacy.headers, accept: "application/json" },
        {
          jsonrpc: "2.0",
          id: 5,
          method: "tools/call",
          params: { name: "mcp_one_log", arguments: { message: "a third secret" } },
        },
      )
      .answer();
    // Bob gets the next notification after the log messages.
    await call(alice, "change_tools", { action: "add" }).answer();
    await hears.find(({ method }) => method === "notifications/tools/list_changed");
    expect(hears.text).not.toContain("secret");
  });

  it("changed roots reach the server", async () => {
    for (const transport of ["stdio", "http"] as const) {
      const { url, stats } = await setUp("legacy", transport);
      const client = await RawLegacy.open(url, { token: TOKEN, capabilities: ALL_CAPABILITIES });
      await client.notify("notifications/roots/list_changed").over;
      await until(async () => (await stats()).notifications["notifications/roots/list_changed"] === 1);
    }
  });
});

describe("lists", () => {
  const names = ({ result }: Loose): string[] => result.tools.map(({ name }: Loose) => name);

  it.each(["modern", "legacy"] as const)(
    "come in pages that stay consistent while the list changes (%s)",
    async (front) => {
      const { url } = await openTestGateway([stdioServer("one", ["--era=modern", "--tools=7"])], {
        pageSize: 5,
      });
      const client = await open(front, url);
      const whole: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page === 0 || cursor !== undefined; page += 1) {
        const message = await client.call("tools/list", cursor === undefined ? {} : { cursor });
        expect(names(message).length).toBeLessThanOrEqual(5);
        whole.push(...names(message));
        cursor = message.result.nextCursor;
        if (page !== 1) continue;
        // The new tool sorts before the tools of the first page, and must not shift the second page.
        await client.tool("mcp_one_change_tools", { action: "add" });
        const worker = new RawModern(url, { token: TOKEN });
        await until(async () => {
          const first = await worker.ask("tools/list");
          return names(first).some((name) => name.startsWith("mcp_one_added_"));
        });
      }
      expect(whole).toEqual([...new Set(whole)].toSorted());
      expect(whole).toHaveLength(26);
      for (const bad of ["nonsense", "", 5, Buffer.from('["prompts/list","x"]').toString("base64url")])
        expect((await client.call("tools/list", { cursor: bad })).error).toMatchObject({ code: -32602 });
    },
  );

  it("have the shortest ttlMs and narrowest cacheScope of their servers, and keep unknown fields", async () => {
    const tool = {
      name: "t",
      inputSchema: { type: "object" },
      "x-vendor": { kept: [1] },
      _meta: { "a/b": 1 },
    };
    const listing = (hint: object) => ({
      "tools/list": ({ json }: Loose) => json({ tools: [tool], ...hint }),
    });
    const [short, long, own] = [
      await serve("modern", listing({ ttlMs: 5_000, cacheScope: "public" })),
      await serve("modern", listing({ ttlMs: 9_000, cacheScope: "public" })),
      await serve("modern", listing({ ttlMs: 8_000, cacheScope: "private" })),
    ];
    const at = (alias: string, url: string) => ({ alias, endpoint: { transport: "http", url } as const });
    const callers = [{ name: "limited", token: "the-token-of-limited", deny: { servers: ["b"] } }];
    const hintOf = async (servers: { url: string }[], token = TOKEN): Promise<unknown[]> => {
      const { url } = await openTestGateway(
        servers.map((server, n) => at("ab"[n] as string, server.url)),
        { callers },
      );
      const { result } = await new RawModern(url, { token }).ask("tools/list");
      expect(result.tools[0]).toEqual({ ...tool, name: "mcp_a_t" });
      return [result.ttlMs, result.cacheScope, result.tools.length];
    };
    expect(await hintOf([short, long])).toEqual([5_000, "public", 2]);
    expect(await hintOf([long, own])).toEqual([8_000, "private", 2]);
    // The list depends on the caller, so its scope is private.
    expect(await hintOf([long, short], "the-token-of-limited")).toEqual([9_000, "private", 1]);
  });
});

describe("results", () => {
  const result = {
    content: [
      { type: "text", text: "a", annotations: { audience: ["user"], priority: 0.5 }, _meta: { "a/b": 1 } },
      { type: "future_thing", payload: { nested: [1, null, "é"] } },
    ],
    structuredContent: { a: 1 },
    "x-vendor": { kept: true },
    _meta: { "vendor/trace": "1" },
  };

  it.each(PAIRS)(
    "pass through unchanged: $front client, $back server over $transport",
    async ({ front, back, transport }) => {
      const { url } = await setUp(back, transport);
      const client = await open(front, url);
      const given = (await client.tool("mcp_one_give", { result })).result;
      expect(given).toMatchObject(result);
      expect(Object.keys(given).filter((key) => !(key in result) && key !== "resultType")).toEqual([]);
      const numbers = (await client.tool("mcp_one_numbers")).result;
      const { tools } = (await client.call("tools/list")).result;
      const schema = tools.find(({ name }: Loose) => name === "mcp_one_numbers").outputSchema;
      if (front === "modern") {
        expect(numbers.structuredContent).toEqual([1, 2, 3]);
        expect(schema).toMatchObject({ type: "array" });
      } else {
        expect(numbers).not.toHaveProperty("structuredContent");
        expect(numbers.content).toEqual([{ type: "text", text: "[1,2,3]" }]);
        expect(schema).toBeUndefined();
      }
      const stats = await client.tool("mcp_one_stats");
      expect(textOf(stats).violations).toEqual([]);
      const traced = await client.call("tools/call", {
        name: "mcp_one_stats",
        _meta: { traceparent: "00-1-2-01", "vendor/x": 7 },
      });
      expect(textOf(traced).thisMeta).toMatchObject({ traceparent: "00-1-2-01", "vendor/x": 7 });
    },
  );

  it("with a task: tasks/get reaches the server that created the task, for this caller only", async () => {
    const asked: string[] = [];
    const routes = (alias: string) => ({
      "server/discover": ({ json }: Loose) =>
        json({
          ...DISCOVER,
          capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
        }),
      "tools/call": ({ json }: Loose) =>
        json({ resultType: "task", taskId: "task.1", status: "working", "x-vendor": alias }),
      "tasks/get": ({ json, params, request }: Loose) => {
        asked.push(`${alias} ${params.taskId} ${request.headers["mcp-name"]}`);
        json({ resultType: "complete", taskId: params.taskId, status: "completed", result: { alias } });
      },
    });
    const servers = await Promise.all(
      ["a", "b"].map(async (alias) => {
        const { url } = await serve("modern", routes(alias));
        return { alias, endpoint: { transport: "http", url } as const };
      }),
    );
    const callers = [{ name: "limited", token: "the-token-of-limited", deny: { servers: ["b"] } }];
    const { url } = await openTestGateway(servers, { callers });
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const client = new RawModern(url, { token: TOKEN, capabilities });
    const task = await client.tool("mcp_b_t");
    expect(task.result).toMatchObject({ resultType: "task", status: "working", "x-vendor": "b" });
    const { taskId } = task.result;
    const found = await client.ask("tasks/get", { taskId });
    expect(found.result).toMatchObject({ taskId, status: "completed", result: { alias: "b" } });
    expect(asked).toEqual(["b task.1 task.1"]);
    const limited = new RawModern(url, { token: "the-token-of-limited", capabilities });
    expect((await limited.ask("tasks/get", { taskId })).error).toBeDefined();
    expect((await client.ask("tasks/get", { taskId: "nowhere.1" })).error).toBeDefined();
    expect(asked).toHaveLength(1);
    // At its own address, the server keeps its task ids, with a signature that binds them to the caller.
    const alone = new RawModern(url, { token: TOKEN, path: "/servers/b/mcp" });
    expect((await alone.tool("t")).result.taskId).toMatch(/^task\.1~[\w-]{22}$/);
  });

  it("that are too large are cut; only their caller can read the rest in slices", async () => {
    const runs = runsFile();
    const flags = ["--era=modern", `--runs=${runs.file}`];
    const { url } = await openTestGateway(
      [stdioServer("one", flags), stdioServer("two", flags, { maxResultBytes: 0 })],
      { maxResultBytes: 20_000, callers: [{ name: "eve", token: "the-token-of-eve" }] },
    );
    const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n} é🧭`).join("\n");
    const big = { result: { content: [{ type: "text", text: lines }], "x-vendor": 1 } };
    for (const front of ["modern", "legacy"] as const) {
      const client = await open(front, url);
      const { content, "x-vendor": vendor } = (await client.tool("mcp_one_give", big)).result;
      expect(vendor).toBe(1);
      const [head, link] = content;
      expect(lines.startsWith(head.text.split("\n… (")[0])).toBe(true);
      expect(link).toMatchObject({ type: "resource_link", size: Buffer.byteLength(lines) });
      let text = "";
      for (let uri: string | undefined = `${link.uri}?length=9000`; uri !== undefined;) {
        const [slice]: Loose[] = (await client.call("resources/read", { uri })).result.contents;
        text += slice.text;
        uri = slice._meta.next;
      }
      expect(text).toBe(lines);
      const found = await client.call("resources/read", { uri: `${link.uri}?find=line%202999` });
      expect(found.result.contents[0].text).toMatch(/^\d+: line 2999 é🧭$/);
      for (const stranger of [
        await open(front, url, { token: "the-token-of-eve" }),
        await open(front, url, { path: "/servers/one/mcp" }),
      ]) {
        const { error } = await stranger.call("resources/read", { uri: link.uri });
        expect(error).toMatchObject({ code: front === "legacy" ? -32002 : -32602 });
        expect(error?.message).not.toContain("line 0");
      }
      // Structured content that matches a schema is not cut, and a server can have no limit.
      const table = (await client.tool("mcp_one_table", { rows: 5_000 })).result;
      expect(table.structuredContent.rows).toHaveLength(5_000);
      expect((await client.tool("mcp_two_give", big)).result.content).toEqual(big.result.content);
    }
  });
});
