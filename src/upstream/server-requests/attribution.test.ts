// Attribution of server requests and log messages on a transport that does not name the call. The server is a script in the test.

import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { DEFAULT_LIMITS, type JsonObject, type LogMessage, type RpcMessage } from "../../model/index.ts";
import type { ServerRequestHandler, Call, Upstream } from "../upstream.ts";
import { openUpstream } from "../open-upstream.ts";

const LEGACY = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: "inside", version: "1" },
};

/** A server that sends only what the test sends through it. */
async function setUp(own?: ServerRequestHandler) {
  let send: (message: RpcMessage) => void = () => {};
  let pinged: { id: number | undefined } | undefined;
  const ids = new Map<string, number>();
  const answers = new Map<unknown, JsonObject>();
  const upstream: Upstream = await openUpstream({
    definition: {
      name: "inside",
      endpoint: { transport: "stdio", command: "unused" },
      era: "legacy",
      limits: DEFAULT_LIMITS,
    },
    target: {
      transport: "memory",
      server: {
        receive(message, reply) {
          send = reply;
          if (!("method" in message)) return void answers.set(message.id, message as never);
          const { id, method, params } = message as { id?: number; method: string; params?: JsonObject };
          if (method === "initialize") reply({ jsonrpc: "2.0", id: id ?? 0, result: LEGACY });
          else if (method === "ping" && pinged !== undefined) pinged.id = id ?? 0;
          else if (method === "tools/call" || method === "tasks/result")
            ids.set(String(params?.name ?? params?.taskId), id ?? 0);
          else if (id !== undefined) reply({ jsonrpc: "2.0", id, result: {} });
        },
      },
    },
    caller: { clientInfo: { name: "test", version: "1" }, capabilities: {} },
    onServerRequest: own,
    watch: false,
    report: () => {},
    eras: { isLegacy: async () => false, remember: async () => {} },
  });
  onTestFinished(() => upstream.close());
  const logs: unknown[] = [];
  upstream.on("log", ({ data }) => logs.push(data));
  const handled: string[] = [];
  let questions = 0;
  return {
    upstream,
    logs,
    handled,
    handlerOf:
      (name: string): ServerRequestHandler =>
      async () => {
        handled.push(name);
        return { action: "accept", content: { name } };
      },
    /** Sends a call; the test refers to it by its name. */
    async call(name: string, more: Partial<Call> & { client?: string } = {}) {
      const { client, ...rest } = more;
      const caller = { id: client, clientInfo: { name: "c", version: "1" }, capabilities: {} };
      const result = upstream.request({ method: "tools/call", params: { name }, caller, ...rest });
      const ended = result.then(
        () => "answered",
        (error: { code: string }) => error.code,
      );
      await turn();
      return { ended };
    },
    async answer(name: string) {
      send({ jsonrpc: "2.0", id: ids.get(name) as number, result: { content: [] } });
      await turn();
    },
    /** From now on the server answers a ping only when the returned function is called. */
    ping() {
      pinged = { id: undefined };
      return async (): Promise<void> => {
        if (pinged?.id === undefined) throw new Error("the server was not pinged");
        send({ jsonrpc: "2.0", id: pinged.id, result: {} });
        await turn();
      };
    },
    /** A server request; the returned function gives the answer that the server has received so far. */
    async serverRequest(more: JsonObject = {}) {
      questions += 1;
      const id = `q${questions}`;
      send({ jsonrpc: "2.0", id, method: "elicitation/create", params: { message: "?", ...more } });
      await turn();
      return () => answers.get(id)?.result as JsonObject | undefined;
    },
    async log(data: string) {
      send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data } });
      await turn();
    },
  };
}

/** Runs all callbacks that are due now. */
const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const accepted = (name: string): JsonObject => ({ action: "accept", content: { name } });
const DECLINED = { action: "decline" };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a server request", () => {
  it("is passed on immediately if one call is in flight", async () => {
    const { call, serverRequest, handlerOf } = await setUp();
    await call("a", { onServerRequest: handlerOf("a") });
    expect((await serverRequest())()).toEqual(accepted("a"));
  });

  it("is passed on immediately if all calls in flight have the same client", async () => {
    const { call, serverRequest, handlerOf } = await setUp();
    await call("a", { client: "A", onServerRequest: handlerOf("a") });
    await call("b", { client: "A", onServerRequest: handlerOf("b") });
    expect((await serverRequest())()).toEqual(accepted("a"));
  });

  it("waits until only one possible call is left, and is passed to that call", async () => {
    const { call, serverRequest, answer, handlerOf, handled } = await setUp();
    await call("a", { onServerRequest: handlerOf("a") });
    await call("b", { onServerRequest: handlerOf("b") });
    await call("c", { onServerRequest: handlerOf("c") });
    const got = await serverRequest();
    await answer("a");
    expect(handled).toEqual([]);
    await answer("c");
    expect(got()).toEqual(accepted("b"));
    expect(handled).toEqual(["b"]);
  });

  it("never belongs to a call that was sent after it", async () => {
    const { call, serverRequest, answer, handlerOf, handled } = await setUp();
    await call("a", { onServerRequest: handlerOf("a") });
    await call("b", { onServerRequest: handlerOf("b") });
    const got = await serverRequest();
    await call("late", { onServerRequest: handlerOf("late") });
    await answer("b");
    expect(got()).toEqual(accepted("a"));
    expect(handled).toEqual(["a"]);
  });

  it("is not passed to a call with a handler if a call without a handler may have caused it", async () => {
    const { call, serverRequest, answer, handlerOf, handled, upstream } = await setUp(async () =>
      accepted("own"),
    );
    await call("silent");
    await call("b", { onServerRequest: handlerOf("b") });
    const got = await serverRequest();
    expect(got()).toBeUndefined();
    await answer("b");
    // The request belongs to the call without a handler, and the connection's own handler does not answer for a client.
    expect(got()).toEqual(DECLINED);
    expect(handled).toEqual([]);
    expect(upstream.stats().declined).toBe(1);
  });

  it("is answered immediately by the handler of the connection if no call has a handler", async () => {
    const { call, serverRequest } = await setUp(async () => accepted("own"));
    await call("a");
    await call("b");
    expect((await serverRequest())()).toEqual(accepted("own"));
  });

  it("does not wait if all calls have the same handler", async () => {
    const { call, serverRequest, handlerOf } = await setUp();
    const ask = handlerOf("both");
    await call("a", { onServerRequest: ask });
    await call("b", { onServerRequest: ask });
    expect((await serverRequest())()).toEqual(accepted("both"));
  });

  it("is declined if its call is still unclear after the time limit, and the calls continue", async () => {
    const { call, serverRequest, answer, handlerOf, handled, upstream } = await setUp();
    const a = await call("a", { onServerRequest: handlerOf("a"), timeoutMs: 15_000 });
    const b = await call("b", { onServerRequest: handlerOf("b"), timeoutMs: 15_000 });
    const got = await serverRequest();
    await vi.advanceTimersByTimeAsync(9_999);
    expect(got()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(got()).toEqual(DECLINED);
    expect(handled).toEqual([]);
    expect(upstream.stats().declined).toBe(1);
    await answer("a");
    expect(await a.ended).toBe("answered");
    // The timeout was suspended while the request was undecided, and not for longer.
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await b.ended).toBe("TIMEOUT");
  });

  it("is not passed to another call after a cancel, until the server answers the cancelled call", async () => {
    const { call, serverRequest, answer, handlerOf, handled } = await setUp();
    const stop = new AbortController();
    const a = await call("a", { onServerRequest: handlerOf("a"), client: "A", signal: stop.signal });
    await call("b", { onServerRequest: handlerOf("b"), client: "B" });
    const first = await serverRequest();
    stop.abort();
    expect(await a.ended).toBe("CANCELLED");
    const second = await serverRequest();
    expect([first(), second(), handled]).toEqual([undefined, undefined, []]);
    await answer("a");
    expect([first(), second()]).toEqual([accepted("b"), accepted("b")]);
  });

  it("of a cancelled call is declined, even if no other call is in flight", async () => {
    const { call, serverRequest, handlerOf, handled, answer } = await setUp(async () => accepted("own"));
    const stop = new AbortController();
    await call("a", { onServerRequest: handlerOf("a"), client: "A", signal: stop.signal });
    stop.abort();
    expect((await serverRequest())()).toEqual(DECLINED);
    await call("b", { onServerRequest: handlerOf("b"), client: "B" });
    const got = await serverRequest();
    await answer("b");
    await vi.advanceTimersByTimeAsync(30_000);
    expect([got(), handled]).toEqual([undefined, []]);
    await call("c", { onServerRequest: handlerOf("c"), client: "C" });
    expect((await serverRequest())()).toEqual(accepted("c"));
  });

  it("of a client with a cancelled call is still passed to another call of this client", async () => {
    const { call, serverRequest, handlerOf } = await setUp();
    const stop = new AbortController();
    await call("a", { onServerRequest: handlerOf("a"), client: "A", signal: stop.signal });
    stop.abort();
    await call("b", { onServerRequest: handlerOf("b"), client: "A" });
    expect((await serverRequest())()).toEqual(accepted("b"));
  });

  it("of a task is passed to the call that waits for this task", async () => {
    const { call, serverRequest, handlerOf, handled } = await setUp(async () => undefined);
    const related = { _meta: { "io.modelcontextprotocol/related-task": { taskId: "t1" } } };
    await call("a", { onServerRequest: handlerOf("a"), client: "A" });
    expect((await serverRequest(related))()).toEqual(DECLINED);
    await call("t", {
      method: "tasks/result",
      params: { taskId: "t1" },
      onServerRequest: handlerOf("t"),
      client: "B",
    });
    expect((await serverRequest(related))()).toEqual(accepted("t"));
    expect((await serverRequest())()).toEqual(accepted("a"));
    expect(handled).toEqual(["t", "a"]);
  });

  it("is dropped when the connection closes", async () => {
    const { call, serverRequest, handlerOf, handled, upstream } = await setUp();
    const calls = [
      await call("a", { onServerRequest: handlerOf("a") }),
      await call("b", { onServerRequest: handlerOf("b") }),
    ];
    const got = await serverRequest();
    await upstream.close();
    expect(await Promise.all(calls.map(({ ended }) => ended))).toEqual([
      "CONNECTION_CLOSED",
      "CONNECTION_CLOSED",
    ]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect([got(), handled, upstream.stats().declined]).toEqual([undefined, [], 0]);
  });
});

describe("a log message", () => {
  const hearing = (): { heard: unknown[]; onLog: (message: LogMessage) => void } => {
    const heard: unknown[] = [];
    return { heard, onLog: ({ data }) => heard.push(data) };
  };

  it("is passed to the only call in flight, and to all listeners if there is none", async () => {
    const { call, answer, log, logs } = await setUp();
    const { heard, onLog } = hearing();
    await call("a", { onLog });
    await log("during");
    await answer("a");
    await log("after");
    expect([heard, logs]).toEqual([["during"], ["after"]]);
  });

  it("is passed to the client if all calls are of one client, and is dropped otherwise", async () => {
    const { call, log, logs } = await setUp();
    const { heard, onLog } = hearing();
    await call("a", { client: "A" });
    await call("b", { client: "A", onLog });
    await log("A's");
    await call("c", { client: "C" });
    await log("whose?");
    expect([heard, logs]).toEqual([["A's"], []]);
  });

  it("is passed to the call of another client once the server has processed a cancellation", async () => {
    const { call, log, logs, ping } = await setUp();
    const { heard, onLog } = hearing();
    const stop = new AbortController();
    await call("a", { client: "A", signal: stop.signal });
    await call("b", { client: "B", onLog });
    const answered = ping();
    stop.abort();
    await turn();
    await log("of a, which is not cancelled yet");
    await answered();
    await log("of b");
    expect([heard, logs]).toEqual([["of b"], []]);
  });

  it("is an event if no call listens", async () => {
    const { call, log, logs } = await setUp();
    await call("a");
    await call("b");
    await log("as before");
    expect(logs).toEqual(["as before"]);
  });

  it("is dropped if it belongs to a client that does not listen", async () => {
    const { call, log, logs } = await setUp();
    const stop = new AbortController();
    await call("a", { client: "A", signal: stop.signal });
    await log("A's own");
    stop.abort();
    await log("A's own, too late");
    expect(logs).toEqual([]);
  });

  it("is not passed to another client when its call is cancelled", async () => {
    const { call, log, logs } = await setUp();
    const { heard, onLog } = hearing();
    const stop = new AbortController();
    await call("a", { client: "A", signal: stop.signal, onLog: () => {} });
    await call("b", { client: "B", onLog });
    stop.abort();
    await log("of a");
    expect([heard, logs]).toEqual([[], []]);
  });
});
