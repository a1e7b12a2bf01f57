// The upstream over an in-process server: server requests, callers, and relayed results.

import { expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS, type JsonObject, type RpcMessage } from "../model/index.ts";
import type { ServerRequestHandler, Caller, Upstream } from "./upstream.ts";
import { openUpstream } from "./open-upstream.ts";
import type { MemoryServer } from "./transports/memory.ts";

type Answer = (
  message: { id?: unknown; method: string; params?: JsonObject },
  send: (message: RpcMessage) => void,
) => JsonObject | undefined;

const MODERN = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
const LEGACY = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "inside", version: "1" },
};

/** A server that answers by a function; undefined means that it will send its answer itself. */
function inProcess(answer: Answer): MemoryServer {
  return {
    receive(message, send) {
      if (!("method" in message))
        return void answer({ id: message.id, method: "response", params: message as never }, send);
      const result = answer(message, send);
      if ("id" in message && result !== undefined) send({ jsonrpc: "2.0", id: message.id, result });
    },
  };
}

async function open(
  server: MemoryServer,
  era: "legacy" | "modern",
  options: { caller?: Caller; onServerRequest?: ServerRequestHandler } = {},
): Promise<Upstream> {
  const upstream = await openUpstream({
    definition: {
      name: "inside",
      endpoint: { transport: "stdio", command: "unused" },
      era,
      limits: DEFAULT_LIMITS,
    },
    target: { transport: "memory", server },
    caller: { clientInfo: { name: "test", version: "1" }, capabilities: {} },
    watch: false,
    report: () => {},
    eras: { isLegacy: async () => false, remember: async () => {} },
    ...options,
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

it("returns a result with all of its fields", async () => {
  const result = {
    resultType: "complete",
    content: [{ type: "hologram", "x-y": [1] }],
    extra: { deep: null },
  };
  const upstream = await open(
    inProcess(({ method }) => (method === "server/discover" ? MODERN : result)),
    "modern",
  );
  expect(upstream.describe()).toMatchObject({ era: "modern", transport: "memory" });
  expect(await upstream.request({ method: "tools/call", params: { name: "x" } })).toEqual(result);
  expect(await upstream.request({ method: "vendor/anything" })).toEqual(result);
});

it("declares the capabilities of the caller of each request", async () => {
  const seen: unknown[] = [];
  const upstream = await open(
    inProcess(({ method, params }) => {
      if (method === "server/discover") return MODERN;
      seen.push((params?._meta as JsonObject | undefined)?.["io.modelcontextprotocol/clientCapabilities"]);
      return { resultType: "complete" };
    }),
    "modern",
  );
  const caller = { clientInfo: { name: "other", version: "2" }, capabilities: { elicitation: { form: {} } } };
  await upstream.request({ method: "tools/call", params: { name: "x" }, caller });
  await upstream.request({ method: "tools/call", params: { name: "x" } });
  expect(seen).toEqual([{ elicitation: { form: {} } }, {}]);
});

it("returns input_required unchanged to a caller that accepts it", async () => {
  const result = {
    resultType: "input_required",
    requestState: "opaque",
    inputRequests: { a: { method: "roots/list" } },
  };
  const upstream = await open(
    inProcess(({ method }) => (method === "server/discover" ? MODERN : result)),
    "modern",
  );
  expect(
    await upstream.request({ method: "tools/call", params: { name: "x" }, passInputRequired: true }),
  ).toEqual(result);
});

it("passes a request of a legacy server to a call only if no other call can have caused it", async () => {
  const held: (() => void)[] = [];
  const answers: unknown[] = [];
  const server = inProcess(({ id, method, params }, send) => {
    if (method === "initialize") return LEGACY;
    if (method === "response") {
      answers.push((params as JsonObject).result);
      if (answers.length === held.length) for (const release of held.splice(0)) release();
      return undefined;
    }
    if (method !== "tools/call") return {};
    held.push(() => send({ jsonrpc: "2.0", id: id as number, result: { content: [] } }));
    return undefined;
  });
  let sendToClient: ((message: RpcMessage) => void) | undefined;
  const wired: MemoryServer = {
    receive(message, send) {
      sendToClient = send;
      server.receive(message, send);
    },
  };
  const upstream = await open(wired, "legacy");
  const answering =
    (name: string): ServerRequestHandler =>
    async () => ({ action: "accept", content: { name } });
  const serverRequest = (id: number): RpcMessage => ({
    jsonrpc: "2.0",
    id,
    method: "elicitation/create",
    params: { message: "?" },
  });

  const one = upstream.request({
    method: "tools/call",
    params: { name: "x" },
    onServerRequest: answering("one"),
  });
  await Promise.resolve();
  sendToClient?.(serverRequest(1));
  await one;
  expect(answers).toEqual([{ action: "accept", content: { name: "one" } }]);
});

it("answers a ping and refuses unknown requests", async () => {
  const answers: JsonObject[] = [];
  let send: ((message: RpcMessage) => void) | undefined;
  const server = inProcess(({ method, params }) => {
    if (method === "response") answers.push(params as JsonObject);
    return method === "initialize" ? LEGACY : {};
  });
  await open(
    {
      receive(message, reply) {
        send = reply;
        server.receive(message, reply);
      },
    },
    "legacy",
  );
  send?.({ jsonrpc: "2.0", id: "p", method: "ping" });
  send?.({ jsonrpc: "2.0", id: "q", method: "vendor/question" });
  await new Promise((resolve) => setImmediate(resolve));
  expect(answers).toMatchObject([
    { id: "p", result: {} },
    { id: "q", error: { code: -32601 } },
  ]);
});

it("never uses a request id twice, also across input rounds", async () => {
  const ids: unknown[] = [];
  const upstream = await open(
    inProcess(({ id, method }) => {
      ids.push(id);
      return method === "server/discover" ? MODERN : { resultType: "complete", tools: [] };
    }),
    "modern",
  );
  await Promise.all(Array.from({ length: 50 }, () => upstream.request({ method: "tools/list" })));
  expect(new Set(ids).size).toBe(ids.length);
});

it.each(["legacy", "modern"] as const)(
  "sends the _meta of the caller as it is at the time of the call (%s)",
  async (era) => {
    const seen: JsonObject[] = [];
    const upstream = await open(
      inProcess(({ method, params }) => {
        if (method === "server/discover") return MODERN;
        if (method === "initialize") return LEGACY;
        if (method === "tools/call") seen.push(params?._meta as JsonObject);
        return { resultType: "complete" };
      }),
      era,
    );
    const _meta: JsonObject = {};
    const call = (): Promise<JsonObject> =>
      upstream.request({ method: "tools/call", params: { name: "x", _meta } });
    await call();
    _meta["vendor/trace"] = 1;
    _meta.progressToken = "another's";
    await call();
    _meta["vendor/trace"] = 2;
    await call();
    expect(seen.map((meta) => meta["vendor/trace"])).toEqual([undefined, 1, 2]);
    expect(seen.map((meta) => typeof meta.progressToken)).toEqual(["number", "number", "number"]);
  },
);
