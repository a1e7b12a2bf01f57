// One instance over several sessions: calls, crashes, idle stops and subscriptions, on a clock of its own.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { Emitter } from "../emitter.ts";
import type { Description, Upstream, UpstreamEvents } from "../upstream.ts";
import type { Policy } from "./instance.ts";
import { SupervisedUpstream } from "./supervised-upstream.ts";

const CRASH = new PortolanError("SERVER_CRASHED", "it was ended by SIGKILL", { stderr: "out of memory" });

class FakeSession {
  readonly emitter = new Emitter<UpstreamEvents>();
  readonly subscribed = new Set<string>();
  isClosed = false;
  readonly upstream: Upstream;

  constructor(answer: Upstream["request"], transport: Description["transport"] = "stdio") {
    const close = async (): Promise<void> => {
      this.isClosed = true;
    };
    this.upstream = {
      name: "fake",
      describe: () =>
        ({
          ...{ info: undefined, era: "legacy", revision: "", transport },
          capabilities: {},
          instructions: undefined,
        }) as const,
      request: answer,
      notify: () => {},
      subscribe: async (uri) => {
        this.subscribed.add(uri);
        return async () => void this.subscribed.delete(uri);
      },
      setLogLevel: async () => {},
      on: (event, listener) => this.emitter.on(event, listener),
      stats: () => ({
        inFlight: 0,
        lateAnswers: 0,
        unknownAnswers: 0,
        noise: 0,
        declined: 0,
        restarts: 0,
        eraProbes: 0,
      }),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  crash(): void {
    this.emitter.emit("stateChanged", "closed", CRASH);
  }
}

function setUp(policy: Partial<Policy> = {}): {
  sessions: FakeSession[];
  upstream: SupervisedUpstream;
  failsWith: (error: PortolanError | undefined) => void;
} {
  const sessions: FakeSession[] = [];
  let failure: PortolanError | undefined;
  const upstream = new SupervisedUpstream({
    name: "fake",
    policy: () => ({
      restarts: true,
      keepsTrying: true,
      startRetries: 0,
      idleMs: undefined,
      drainMs: 1_000,
      ...policy,
    }),
    requestTimeoutMs: 0,
    open: async () => {
      if (failure !== undefined) throw failure;
      const session = new FakeSession(async () => ({ session: sessions.length }));
      sessions.push(session);
      return { upstream: session.upstream, release: () => session.upstream.close() };
    },
  });
  return { sessions, upstream, failsWith: (error) => void (failure = error) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("restarts the server after four crashes; after the fifth in a minute, calls fail with the next start time", async () => {
  const { sessions, upstream } = setUp();
  await upstream.start();
  for (let crash = 1; crash <= 4; crash += 1) {
    sessions.at(-1)?.crash();
    const waits = upstream.request({ method: "tools/call" });
    await vi.advanceTimersByTimeAsync(500 * 2 ** (crash - 1) * 1.2);
    expect(await waits).toEqual({ session: crash + 1 });
  }
  sessions.at(-1)?.crash();
  const refused = await upstream.request({ method: "tools/call" }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: "SERVER_UNAVAILABLE",
    message: "fake is not available: it was ended by SIGKILL",
  });
  expect((refused as PortolanError).hint).toMatch(/Call again in (?:[7-9]|10) s\.$/);
  expect(sessions).toHaveLength(5);
  // The sixth session starts without a call, and its crash is above the limit again.
  await vi.advanceTimersByTimeAsync(9_600);
  expect(await upstream.request({ method: "tools/call" })).toEqual({ session: 6 });
  sessions.at(-1)?.crash();
  await expect(upstream.request({ method: "tools/call" })).rejects.toMatchObject({
    code: "SERVER_UNAVAILABLE",
  });
  await upstream.close();
});

test("the close event has no reason when the program closes the server, also after a crash", async () => {
  const { sessions, upstream } = setUp();
  const states: unknown[] = [];
  upstream.on("stateChanged", (state, reason) => void states.push([state, reason?.code]));
  await upstream.start();
  sessions[0]?.crash();
  const waits = upstream.request({ method: "tools/call" });
  await vi.advanceTimersByTimeAsync(600);
  await waits;
  await upstream.close();
  expect(states).toEqual([
    ["ready", undefined],
    ["reconnecting", "SERVER_CRASHED"],
    ["ready", undefined],
    ["closed", undefined],
  ]);
});

test("calls wait for one restart; if the restart fails, they fail, and later calls fail immediately", async () => {
  const { sessions, upstream, failsWith } = setUp({ restarts: true, keepsTrying: false });
  await upstream.start();
  failsWith(new PortolanError("SERVER_START_FAILED", "there is no program fake"));
  sessions[0]?.crash();
  const waits = upstream.request({ method: "tools/call" }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(600);
  expect(await waits).toMatchObject({ code: "SERVER_START_FAILED" });
  const later = await upstream.request({ method: "tools/call" }).catch((error: unknown) => error);
  expect(later).toMatchObject({
    code: "SERVER_UNAVAILABLE",
    message: "fake is not available: there is no program fake",
  });
  failsWith(undefined);
  await vi.advanceTimersByTimeAsync(600);
  expect(await upstream.request({ method: "tools/call" })).toEqual({ session: 2 });
  await upstream.close();
});

test("a call that times out during a restart says why the server restarts and that the call was not sent", async () => {
  const { sessions, upstream } = setUp();
  await upstream.start();
  sessions[0]?.crash();
  const late = upstream.request({ method: "tools/call", timeoutMs: 100 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(100);
  expect(await late).toMatchObject({
    code: "TIMEOUT",
    message:
      "fake: the call was not sent: the server crashed (it was ended by SIGKILL), and Portolan was still restarting it after 100 ms",
    hint: "Call again when the server has started.",
    stderr: CRASH.stderr,
    data: { timeoutMs: 100, neverRan: true },
  });
  await vi.advanceTimersByTimeAsync(600);
  expect(await upstream.request({ method: "tools/call" })).toEqual({ session: 2 });
  await upstream.close();
});

test("renews a subscription in each session, and a subscribed server does not become idle", async () => {
  const { sessions, upstream } = setUp({ idleMs: 100 });
  const release = await upstream.subscribe("a:b");
  await vi.advanceTimersByTimeAsync(500);
  expect(sessions[0]?.isClosed).toBe(false);
  sessions[0]?.crash();
  await vi.advanceTimersByTimeAsync(600);
  expect([...(sessions[1]?.subscribed ?? [])]).toEqual(["a:b"]);
  await release();
  await vi.advanceTimersByTimeAsync(200);
  expect(sessions[1]?.isClosed).toBe(true);
  expect(upstream.state.kind).toBe("idle");
  await upstream.close();
});

test("drain finishes the calls in flight and accepts no new calls", async () => {
  let answer: (result: object) => void = () => {};
  const session = new FakeSession(() => new Promise((resolve) => void (answer = resolve as typeof answer)));
  const upstream = new SupervisedUpstream({
    name: "fake",
    policy: () => ({
      restarts: true,
      keepsTrying: true,
      startRetries: 0,
      idleMs: undefined,
      drainMs: 60_000,
    }),
    requestTimeoutMs: 0,
    open: async () => ({ upstream: session.upstream, release: () => session.upstream.close() }),
  });
  await upstream.start();
  const inFlight = upstream.request({ method: "tools/call" });
  const drained = upstream.drain();
  await expect(upstream.request({ method: "tools/call" })).rejects.toMatchObject({
    code: "CONNECTION_CLOSED",
  });
  expect(session.isClosed).toBe(false);
  answer({ done: true });
  expect(await inFlight).toEqual({ done: true });
  await drained;
  expect(session.isClosed).toBe(true);
});

/** An instance of a server behind a URL. `answer` is the error of its requests. */
async function behindUrl(
  policy: Partial<Policy> = {},
  transport: "http" | "stdio" = "http",
): Promise<{
  upstream: SupervisedUpstream;
  news: unknown[];
  methods: string[];
  failsWith: (code: PortolanError["code"] | undefined) => void;
}> {
  const news: unknown[] = [];
  const methods: string[] = [];
  let failure: PortolanError | undefined;
  const answer: Upstream["request"] = async ({ method }) => {
    methods.push(method);
    if (failure !== undefined) throw failure;
    return {};
  };
  const upstream = new SupervisedUpstream({
    name: "fake",
    policy: () => ({
      ...{ restarts: true, keepsTrying: true, startRetries: 0, idleMs: undefined, drainMs: 0 },
      ...policy,
    }),
    requestTimeoutMs: 0,
    open: async () => {
      const session = new FakeSession(answer, transport);
      return { upstream: session.upstream, release: () => session.upstream.close() };
    },
    event: (event) => news.push(event),
  });
  await upstream.start();
  upstream.on("stateChanged", (state, reason) => news.push([state, reason?.code]));
  upstream.on("toolsChanged", () => news.push("toolsChanged"));
  news.length = 0;
  const failsWith = (code: PortolanError["code"] | undefined): void => {
    failure = code && new PortolanError(code, "no answer", { data: { timeoutMs: 5_000 } });
  };
  return { upstream, news, methods, failsWith };
}

const fail = (upstream: SupervisedUpstream): Promise<unknown> =>
  upstream.request({ method: "tools/call" }).catch((error: unknown) => error);

test("a server that refuses calls is down until a probe succeeds", async () => {
  const { upstream, news, methods, failsWith } = await behindUrl();
  failsWith("CONNECTION_LOST");
  for (let i = 0; i < 4; i += 1) await fail(upstream);
  expect(upstream.isDown).toBe(false);
  await fail(upstream);
  expect(upstream.isDown).toBe(true);
  expect(upstream.live).toBeDefined();
  expect(news).toEqual(["failed", ["reconnecting", "CONNECTION_LOST"]]);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(methods.slice(5)).toEqual(["ping"]);
  expect(news).toHaveLength(2);
  failsWith(undefined);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(upstream.isDown).toBe(false);
  expect(news.slice(2)).toEqual(["recovered", "toolsChanged", ["ready", undefined]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(methods.slice(5)).toEqual(["ping", "ping"]);
  await upstream.close();
});

test("only a call contacts an unreachable server again if keepsTrying is false", async () => {
  const { upstream, news, methods, failsWith } = await behindUrl({ keepsTrying: false });
  failsWith("CONNECTION_LOST");
  for (let i = 0; i < 5; i += 1) await fail(upstream);
  failsWith(undefined);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(methods).not.toContain("ping");
  expect(upstream.isDown).toBe(true);
  await upstream.request({ method: "tools/call" });
  expect(upstream.isDown).toBe(false);
  expect(news.slice(2)).toEqual(["recovered", "toolsChanged", ["ready", undefined]]);
  await upstream.close();
});

test("an error response to a probe means that the server is up", async () => {
  const { upstream, failsWith } = await behindUrl();
  failsWith("RPC_ERROR");
  await upstream.probe();
  expect(upstream.isDown).toBe(false);
  await upstream.close();
});

test("a probe that times out means that the server is down, but calls are still sent", async () => {
  const { upstream, failsWith } = await behindUrl();
  failsWith("TIMEOUT");
  await expect(upstream.probe()).rejects.toMatchObject({ code: "TIMEOUT" });
  expect(upstream.isDown).toBe(true);
  failsWith(undefined);
  await upstream.request({ method: "tools/call" });
  expect(upstream.isDown).toBe(false);
  await upstream.close();
});

test("a process that answers neither a call nor the ping after it is down until it answers", async () => {
  const { upstream, news, methods, failsWith } = await behindUrl({}, "stdio");
  failsWith("TIMEOUT");
  await fail(upstream);
  await vi.advanceTimersByTimeAsync(0);
  expect(upstream.isDown).toBe(true);
  expect(news).toEqual(["failed", ["reconnecting", "TIMEOUT"]]);
  expect(methods).toEqual(["tools/call", "ping"]);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(methods.slice(2)).toEqual(["ping"]);
  failsWith(undefined);
  await upstream.request({ method: "tools/call" });
  expect(upstream.isDown).toBe(false);
  expect(news.slice(2)).toEqual(["recovered", "toolsChanged", ["ready", undefined]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(methods.slice(3)).toEqual(["tools/call"]);
  await upstream.close();
});

test("a process that answers the ping after a timeout is up", async () => {
  const { upstream, methods, failsWith } = await behindUrl({}, "stdio");
  failsWith("TIMEOUT");
  const call = fail(upstream);
  failsWith(undefined);
  await call;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(upstream.isDown).toBe(false);
  expect(methods).toEqual(["tools/call", "ping"]);
  await upstream.close();
});

test("a process that answers no ping may be busy, as long as no call has timed out", async () => {
  const { upstream, failsWith } = await behindUrl({}, "stdio");
  failsWith("TIMEOUT");
  await expect(upstream.probe()).rejects.toMatchObject({ code: "TIMEOUT" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(upstream.isDown).toBe(false);
  await upstream.close();
});
