// Clients on one two-way channel: stdio, WebSocket, and HTTP+SSE.

import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { until } from "../helpers/connect.ts";
import {
  ALL_CAPABILITIES,
  answersTo,
  type Exchange,
  type Loose,
  RawHttp,
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

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

describe("a client on stdio", () => {
  async function talk(): Promise<{
    send: (message: object) => void;
    heard: Loose[];
    runs: Runs;
    close: () => Promise<void>;
  }> {
    const runs = runsFile();
    const { gateway } = await openTestGateway([stdioServer("one", ["--era=legacy", `--runs=${runs.file}`])]);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const heard: Loose[] = [];
    let rest = "";
    output.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) heard.push(JSON.parse(line));
    });
    const over = gateway.serveStdio(input, output);
    return {
      heard,
      runs,
      send: (message) => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
      async close() {
        await gateway.close();
        await over;
      },
    };
  }
  const found = (heard: Loose[], id: unknown): Loose => heard.find((one) => one.id === id && !one.method);

  it("can use both protocol eras at once, and cancel calls of each by notification", async () => {
    const { send, heard, runs } = await talk();
    send({ id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {} } });
    await until(() => found(heard, 0)?.result.protocolVersion === "2025-06-18");
    send({ id: "old", method: "tools/call", params: { name: "mcp_one_hang", arguments: { id: "old" } } });
    send(modern("tools/call", { name: "mcp_one_hang", arguments: { id: "new" } }, "new"));
    await until(() => runs.called("old") + runs.called("new") === 2);
    for (const requestId of ["old", "new"])
      send({ method: "notifications/cancelled", params: { requestId } });
    await until(() => runs.cancelled("old") + runs.cancelled("new") === 2);
    send({ id: "after", method: "ping" });
    await until(() => found(heard, "after") !== undefined);
    expect([found(heard, "old"), found(heard, "new")]).toEqual([undefined, undefined]);
  });

  it("gets a result for its subscriptions/listen request when the gateway closes", async () => {
    const { send, heard, close } = await talk();
    send(modern("subscriptions/listen", { notifications: { toolsListChanged: true } }, "mine"));
    await until(() => heard.length > 0);
    expect(heard[0]).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: { [SUBSCRIPTION]: "mine" } },
    });
    await close();
    expect(found(heard, "mine").result).toMatchObject({ _meta: { [SUBSCRIPTION]: "mine" } });
  });
});

const hello = {
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: ALL_CAPABILITIES,
    clientInfo: { name: "raw", version: "1" },
  },
};
const modern = (...given: Parameters<RawModern["request"]>): object =>
  new RawModern("http://localhost").request(...given).body;

/** A client with one two-way channel over any transport. */
interface Channel {
  readonly heard: Loose[];
  send(message: object): void;
  close(): void;
  readonly closed: Promise<number | undefined>;
}

interface Served {
  readonly url: string;
  readonly runs: Runs;
  readonly close: () => Promise<void>;
}

async function setUp(): Promise<Served> {
  const runs = runsFile();
  const { url, gateway } = await openTestGateway(
    [stdioServer("one", ["--era=legacy", `--runs=${runs.file}`])],
    {
      transports: { sse: true, websocket: true },
      callers: [{ name: "other", token: "the-token-of-other" }],
      limits: { bodyBytes: 100_000 },
    },
  );
  return { url, runs, close: () => gateway.close() };
}

async function openWebSocket(
  url: string,
  headers: Record<string, string> = {},
  path = "/mcp",
): Promise<Channel> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, "mcp", {
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  });
  const heard: Loose[] = [];
  socket.on("message", (data: Buffer) => heard.push(JSON.parse(data.toString())));
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("unexpected-response", (_request, { statusCode }) => reject(new Error(String(statusCode))));
    socket.once("error", reject);
  });
  return {
    heard,
    closed,
    send: (message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message })),
    close: () => socket.terminate(),
  };
}

async function openSse(url: string): Promise<Channel> {
  const client = new RawHttp(url, { token: TOKEN, path: "/sse" });
  const stream = client.send("GET", { accept: "text/event-stream" });
  await until(() => stream.text.includes("\n\n"));
  const endpoint = /event: endpoint\ndata: (.+)\n/.exec(stream.text)?.[1] ?? "";
  return {
    heard: stream.messages,
    closed: stream.over.then(() => undefined),
    send: (message) =>
      void client.send(
        "POST",
        { "content-type": "application/json" },
        { jsonrpc: "2.0", ...message },
        endpoint,
      ),
    close: () => stream.destroy(),
  };
}

const answerTo = async (heard: readonly Loose[], id: unknown): Promise<Loose> => {
  const find = (): Loose => heard.find((one) => one.id === id && !one.method);
  await until(() => find() !== undefined);
  return find();
};

describe.each([
  ["WebSocket", openWebSocket],
  ["HTTP+SSE", openSse],
] as const)("a client over %s", (_name, open) => {
  it("gets only the server requests of its own calls, in both eras", async () => {
    const { url, runs } = await setUp();
    const people = ["a", "b", "c", "d"].map((id) => person(id));
    await Promise.all(
      people.map(async (who, n) => {
        const channel = await open(url);
        const params = { name: "mcp_one_ask_own", arguments: { id: who.id, rounds: 2 } };
        let end: Loose;
        if (n % 2 === 0) {
          channel.send({ id: 0, ...hello });
          await answerTo(channel.heard, 0);
          channel.send({ id: 1, method: "tools/call", params });
          for (const round of [1, 2]) {
            const asked = (): Loose[] =>
              channel.heard.filter(({ method }) => method === "elicitation/create");
            await until(() => asked().length === round);
            const question = asked()[round - 1];
            channel.send({ id: question.id, result: who.answer(question) });
          }
          end = await answerTo(channel.heard, 1);
        } else {
          let again: object = params;
          for (let id = 1; end === undefined || end.result.resultType === "input_required"; id += 1) {
            channel.send(modern("tools/call", again, id));
            end = await answerTo(channel.heard, id);
            again = { ...params, ...answersTo(end.result, who.answer) };
          }
        }
        expect(secretsIn(textOf(end))).toEqual([who.secret, who.secret]);
        expect(who.strange).toEqual([]);
        expect(runs.called(who.id)).toBe(1);
      }),
    );
  });

  it("cancels calls by notification, or all of them when its connection closes", async () => {
    const { url, runs } = await setUp();
    const channel = await open(url);
    channel.send({ id: 0, ...hello });
    await answerTo(channel.heard, 0);
    const hang = (id: string): object => ({ name: "mcp_one_hang", arguments: { id } });
    channel.send({ id: "old", method: "tools/call", params: hang("old") });
    channel.send(modern("tools/call", hang("new"), "new"));
    channel.send({ id: "left", method: "tools/call", params: hang("left") });
    channel.send(modern("tools/call", hang("left too"), "left too"));
    const ids = ["old", "new", "left", "left too"];
    await until(() => ids.every((id) => runs.called(id) === 1));
    for (const requestId of ["old", "new"])
      channel.send({ method: "notifications/cancelled", params: { requestId } });
    await until(() => runs.cancelled("old") + runs.cancelled("new") === 2);
    expect(runs.cancelled("left") + runs.cancelled("left too")).toBe(0);
    channel.close();
    await until(() => runs.cancelled("left") + runs.cancelled("left too") === 2);
  });

  it("is disconnected when the gateway closes, after its subscription has ended with a result", async () => {
    const { url, close } = await setUp();
    const channel = await open(url);
    channel.send(modern("subscriptions/listen", { notifications: { toolsListChanged: true } }, "mine"));
    await until(() => channel.heard.length > 0);
    await close();
    expect((await answerTo(channel.heard, "mine")).result).toMatchObject({
      _meta: { [SUBSCRIPTION]: "mine" },
    });
    expect([1001, undefined]).toContain(await channel.closed);
  });
});

it("a WebSocket upgrade is refused for the same reasons as an HTTP request", async () => {
  const { url } = await setUp();
  const refused = async (...given: [Record<string, string>, string?]): Promise<string> => {
    try {
      (await openWebSocket(url, ...given)).close();
      return "open";
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(await refused({ origin: "https://evil.example" })).toBe("403");
  expect(await refused({ host: "evil.example" })).toBe("403");
  expect(await refused({ authorization: "Bearer nobody" })).toBe("401");
  expect(await refused({}, "/elsewhere")).toBe("404");
  expect(await refused({}, "/servers/none/mcp")).toBe("404");
  expect(await refused({}, "/servers/one/mcp")).toBe("open");
  expect(await refused({ origin: url })).toBe("open");
  const off = await openTestGateway([]);
  await expect(openWebSocket(off.url)).rejects.toThrow(/^4\d\d$/);
  // A message that is too large ends its own connection only.
  const [greedy, other] = [await openWebSocket(url), await openWebSocket(url)];
  greedy.send({ id: 1, method: "ping", params: { text: "x".repeat(200_000) } });
  expect(await greedy.closed).toBe(1009);
  other.send({ id: 1, method: "ping" });
  expect((await answerTo(other.heard, 1)).result).toEqual({});
});

it("only the caller that opened an HTTP+SSE session can send messages to it", async () => {
  const { url } = await setUp();
  const owner = new RawHttp(url, { token: TOKEN, path: "/sse" });
  const stream = owner.send("GET", { accept: "text/event-stream" });
  await until(() => stream.text.includes("\n\n"));
  const endpoint = /data: (.+)\n/.exec(stream.text)?.[1] ?? "";
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const post = async (
    client: RawHttp,
    path: string,
    headers = {},
    body: string | object = ping,
  ): Promise<number> => {
    const exchange: Exchange = client.send(
      "POST",
      { "content-type": "application/json", ...headers },
      body,
      path,
    );
    await exchange.over;
    return exchange.status;
  };
  expect(await post(owner, endpoint)).toBe(202);
  expect(await post(new RawHttp(url, { token: "the-token-of-other" }), endpoint)).toBe(404);
  expect(await post(new RawHttp(url), endpoint)).toBe(401);
  expect(await post(owner, `/servers/one${endpoint}`)).toBe(404);
  expect(await post(owner, "/messages?sessionId=none")).toBe(404);
  expect(await post(owner, endpoint, { origin: "https://evil.example" })).toBe(403);
  expect(await post(owner, endpoint, {}, "{nonsense")).toBe(400);
  expect(await post(owner, endpoint, {}, "x".repeat(200_000))).toBe(413);
  await stream.find(({ id }) => id === 1);
  expect(stream.messages.filter(({ id }) => id === 1)).toHaveLength(1);
});

describe("random requests in both eras", () => {
  const METHODS = [
    ...[
      "tools/list",
      "tools/call",
      "prompts/list",
      "prompts/get",
      "resources/list",
      "resources/templates/list",
    ],
    ...[
      "resources/read",
      "resources/subscribe",
      "resources/unsubscribe",
      "completion/complete",
      "logging/setLevel",
    ],
    ...[
      "tasks/get",
      "server/discover",
      "initialize",
      "ping",
      "subscriptions/listen",
      "constructor",
      "__proto__",
      "",
    ],
  ];
  const KEYS = [
    ...[
      "name",
      "uri",
      "arguments",
      "_meta",
      "cursor",
      "level",
      "ref",
      "argument",
      "taskId",
      "notifications",
      "task",
    ],
    ...["inputResponses", "requestState", "protocolVersion", "capabilities", "clientInfo", "__proto__"],
  ];
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(
      "mcp_one_echo",
      "test://static-text",
      "debug",
      "portolan1.a.1.b",
      "one.1",
      "portolan://results/x",
    ),
    fc.record({ type: fc.constantFrom("ref/prompt", "ref/resource"), name: fc.string(), uri: fc.string() }),
    fc.record({ resourceSubscriptions: fc.array(fc.string()), toolsListChanged: fc.boolean() }),
  );
  const asked = fc.tuple(
    fc.constantFrom(...METHODS),
    fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 5 }),
  );

  it("get an answer without an internal error, and the gateway continues", async () => {
    const { url } = await setUp();
    const client = new RawModern(url, { token: TOKEN });
    const socket = await openWebSocket(url);
    socket.send({ id: "hello", ...hello });
    await answerTo(socket.heard, "hello");
    let id = 0;
    await fc.assert(
      fc.asyncProperty(asked, async ([method, params]) => {
        id += 1;
        const { headers, body } = client.request(method, params, id);
        const exchange = client.send("POST", headers, body);
        const answer = await exchange.find(() => true);
        if (method === "subscriptions/listen") exchange.destroy();
        else expect(answer).toMatchObject({ jsonrpc: "2.0" });
        expect(exchange.status).toBeLessThan(500);
        if (answer.error !== undefined) expect(answer.error.code).not.toBe(-32603);
        socket.send({ id, method, params });
        const old = await answerTo(socket.heard, id);
        if (old.error !== undefined) expect(old.error.code).not.toBe(-32603);
      }),
      { numRuns: 300 },
    );
    expect((await client.tool("mcp_one_echo", { text: "well" })).result.content[0].text).toBe("well");
  });
});
