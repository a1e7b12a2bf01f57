// Call isolation with fake processes and a fake clock: the process that each call is sent to.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import {
  type ServerRequestHandler,
  type Call,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
} from "../../upstream/index.ts";
import { CallIsolation, type CallIsolationOptions } from "./call-isolation.ts";

const NO_STATS = {
  inFlight: 0,
  lateAnswers: 0,
  unknownAnswers: 0,
  noise: 0,
  declined: 0,
  restarts: 0,
  eraProbes: 0,
};

interface Sent {
  readonly call: Call;
  readonly process: string;
  answer(): Promise<void>;
  fail(code: "RPC_ERROR" | "SERVER_CRASHED" | "CANCELLED"): Promise<void>;
  /** The server sends a request during this call. */
  sendRequest(): Promise<JsonObject | undefined>;
}

/** Runs all pending work that needs no time. */
const flush = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const handler =
  (name: string): ServerRequestHandler =>
  async () => ({ name });

function setUp(options: Partial<CallIsolationOptions> = {}) {
  const sent = new Map<string, Sent>();
  const reports: Diagnostic[] = [];
  const closed: string[] = [];
  const crash = new Map<string, () => void>();
  let opened = 0;
  const stats = { ambiguous: 0 };
  const fake = (process: string): Upstream => {
    const emitter = new Emitter<UpstreamEvents>();
    crash.set(process, () => emitter.emit("stateChanged", "closed"));
    const upstream: Partial<Upstream> = {
      stats: () => ({ ...NO_STATS, ...stats }),
      describe: () => ({ transport: "stdio" }) as Description,
      setLogLevel: async () => {},
      on: (event, listener) => emitter.on(event, listener),
      request: (call) => {
        if (call.method === "ping") return Promise.resolve({});
        return new Promise((resolve, reject) => {
          sent.set(String(call.params?.id), {
            call,
            process,
            answer: async () => void (resolve({}), await flush()),
            fail: async (code) => void (reject(new PortolanError(code, code)), await flush()),
            sendRequest: () =>
              call.onServerRequest?.({
                id: 1,
                method: "m",
                params: {},
                signal: new AbortController().signal,
              }) ?? Promise.resolve(undefined),
          });
        });
      },
    };
    return upstream as Upstream;
  };
  const main = fake("main");
  const isolation = new CallIsolation({
    alias: "server",
    maxDedicated: undefined,
    timeoutMs: 60_000,
    report: (diagnostic) => reports.push(diagnostic),
    main: () => main,
    open: async () => {
      opened += 1;
      const name = `dedicated ${opened}`;
      return { upstream: fake(name), release: async () => void closed.push(name) };
    },
    ...options,
  });
  const ended = new Map<string, string>();
  const at = (id: string): string | undefined => sent.get(id)?.process;
  const found = (id: string): Sent => {
    const one = sent.get(id);
    if (one === undefined) throw new Error(`${id} was not sent`);
    return one;
  };
  const call = async (
    id: string,
    tool: string,
    { client = id, ...more }: Partial<Call> & { client?: string } = {},
  ): Promise<string | undefined> => {
    const caller = { id: client, clientInfo: { name: "c", version: "1" }, capabilities: {} };
    isolation
      .request(main, { method: "tools/call", params: { name: tool, id }, caller, ...more })
      .then(() => ended.set(id, "answered"))
      .catch((error: PortolanError) => ended.set(id, `${error.code}: ${error.message}`));
    await flush();
    return at(id);
  };
  /** Teaches whether a tool sends requests. */
  const learn = async (tool: string, verdict: "never" | "sends"): Promise<void> => {
    const id = `learning ${tool}`;
    await call(id, tool, { onServerRequest: handler("x") });
    if (verdict === "sends") await found(id).sendRequest();
    await found(id).answer();
  };
  return { isolation, reports, closed, crash, stats, ended, at, call, learn, sent: found };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a call is sent to the main process", () => {
  it("if no call has a handler for server requests", async () => {
    const { call } = setUp();
    expect([await call("1", "a"), await call("2", "a"), await call("3", "b")]).toEqual([
      "main",
      "main",
      "main",
    ]);
  });

  it("if its tool has sent no server requests so far", async () => {
    const { call, learn, isolation } = setUp();
    await learn("a", "never");
    for (let n = 0; n < 50; n += 1)
      expect(await call(`${n}`, "a", { onServerRequest: handler("x") })).toBe("main");
    expect(isolation.dedicatedCount).toBe(0);
  });

  it("if all calls there belong to the same client", async () => {
    const { call, learn } = setUp();
    await learn("a", "sends");
    const same = handler("x");
    expect([
      await call("1", "a", { onServerRequest: same }),
      await call("2", "a", { onServerRequest: same }),
    ]).toEqual(["main", "main"]);
  });

  it("if no other call is in flight there, also if its tool sends server requests", async () => {
    const { call, learn } = setUp();
    await learn("a", "sends");
    expect(await call("1", "a", { onServerRequest: handler("x") })).toBe("main");
  });
});

describe("a call of a tool with unknown behaviour", () => {
  it("waits for the call before it, and is sent if that call caused no server request", async () => {
    const { call, sent, at } = setUp();
    await call("1", "a", { onServerRequest: handler("1") });
    expect(await call("2", "a", { onServerRequest: handler("2") })).toBeUndefined();
    await sent("1").answer();
    expect(at("2")).toBe("main");
    expect(await call("3", "a", { onServerRequest: handler("3") })).toBe("main");
  });

  it("gets a dedicated process if the tool then sends a server request", async () => {
    const { call, sent, at, isolation } = setUp();
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "a", { onServerRequest: handler("2") });
    await call("3", "a");
    await sent("1").sendRequest();
    await flush();
    expect([at("2"), at("3"), isolation.dedicatedCount]).toEqual(["dedicated 1", "dedicated 2", 2]);
    expect(await sent("2").sendRequest()).toEqual({ name: "2" });
  });

  it("is sent to the main process after one second of waiting", async () => {
    const { call, at, isolation } = setUp();
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "b", { onServerRequest: handler("2") });
    await vi.advanceTimersByTimeAsync(999);
    expect(at("2")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect([at("2"), isolation.dedicatedCount]).toEqual(["main", 0]);
  });

  it("stays unknown if its process crashed", async () => {
    const { call, sent } = setUp();
    await call("2", "a", { onServerRequest: handler("2") });
    await sent("2").fail("SERVER_CRASHED");
    await call("3", "a", { onServerRequest: handler("3") });
    expect(await call("4", "a", { onServerRequest: handler("4") })).toBeUndefined();
  });

  it("shares the main process after a response without a server request", async () => {
    const { call, sent } = setUp();
    await call("1", "a");
    await sent("1").answer();
    await call("2", "a", { onServerRequest: handler("2") });
    expect(await call("3", "a", { onServerRequest: handler("3") })).toBe("main");
  });

  it("gets a dedicated process beside a tool that sends server requests", async () => {
    const { call, at, sent, isolation } = setUp();
    await call("1", "sender", { onServerRequest: handler("1") });
    await sent("1").sendRequest();
    await call("2", "b", { onServerRequest: handler("2") });
    await vi.advanceTimersByTimeAsync(1);
    expect([at("2"), isolation.dedicatedCount]).toEqual(["dedicated 1", 1]);
  });

  it.each(["unknown", "never"])(
    "gets a dedicated process if a server request might have been its own (before: %s)",
    async (was) => {
      const { call, learn, sent, at, stats } = setUp();
      if (was === "never") await learn("a", "never");
      await call("1", "a", { onServerRequest: handler("1") });
      await call("2", "a", { onServerRequest: handler("2") });
      await vi.advanceTimersByTimeAsync(1_000);
      expect(at("2")).toBe("main");
      stats.ambiguous += 1;
      await sent("1").answer();
      expect(await call("3", "a", { onServerRequest: handler("3") })).toBe("dedicated 1");
      // Alone in its process, the tool sent no server request.
      await sent("3").fail("RPC_ERROR");
      expect(await call("4", "a", { onServerRequest: handler("4") })).toBe("main");
    },
  );
});

describe("a call that causes server requests", () => {
  it("never shares a process with other clients, even if the tool caused no server request before or after", async () => {
    const { call, learn, sent } = setUp();
    await learn("a", "never");
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "a", { onServerRequest: handler("2") });
    await sent("1").sendRequest();
    await sent("1").answer();
    await sent("2").answer();
    await learn("a", "never");
    await call("3", "a", { onServerRequest: handler("3") });
    expect(await call("4", "a", { onServerRequest: handler("4") })).toBe("dedicated 1");
  });

  it("gets a process without other clients; a call without server requests does not need one", async () => {
    const { call, learn } = setUp();
    await learn("a", "sends");
    await learn("q", "never");
    await call("1", "q", { onServerRequest: handler("1") });
    expect(await call("2", "a", { onServerRequest: handler("2") })).toBe("dedicated 1");
    expect(await call("3", "q", { onServerRequest: handler("3") })).toBe("main");
    expect(await call("4", "a", { onServerRequest: handler("4"), client: "1" })).toBe("dedicated 2");
  });

  it("waits in order of arrival if the maximum of processes is reached", async () => {
    const { call, learn, sent, at } = setUp({ maxDedicated: 1 });
    await learn("a", "sends");
    for (const id of ["1", "2", "3", "4"]) await call(id, "a", { onServerRequest: handler(id) });
    expect([at("1"), at("2"), at("3"), at("4")]).toEqual(["main", "dedicated 1", undefined, undefined]);
    await sent("2").answer();
    await sent("1").answer();
    expect([at("3"), at("4")]).toEqual(["dedicated 1", "main"]);
  });

  it("of another account gets a process even if one account uses the maximum", async () => {
    const { call, learn, at } = setUp({ maxDedicated: 1 });
    await learn("a", "sends");
    const of = (account: string, id: string): Partial<Call> => ({
      onServerRequest: handler(id),
      caller: { id, account, clientInfo: { name: "c", version: "1" }, capabilities: {} },
    });
    for (const id of ["1", "2", "3"]) await call(id, "a", of("greedy", id));
    expect([at("1"), at("2"), at("3")]).toEqual(["main", "dedicated 1", undefined]);
    await call("4", "a", of("modest", "4"));
    await vi.advanceTimersByTimeAsync(1);
    expect([at("3"), at("4")]).toEqual([undefined, "dedicated 2"]);
  });

  it("waits for the main process if dedicated processes are disabled, while other calls continue", async () => {
    const { call, learn, sent, at } = setUp({ maxDedicated: 0 });
    await learn("a", "sends");
    await learn("q", "never");
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "a", { onServerRequest: handler("2") });
    expect(await call("3", "q", { onServerRequest: handler("3") })).toBe("main");
    await sent("1").answer();
    expect(at("2")).toBe("main");
  });

  it("keeps its place before later calls that could share a process", async () => {
    const { call, learn, sent, at } = setUp({ maxDedicated: 1 });
    await learn("a", "sends");
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "a");
    await call("3", "a", { onServerRequest: handler("3") });
    await call("4", "a");
    expect([at("2"), at("3"), at("4")]).toEqual(["dedicated 1", undefined, undefined]);
    await sent("2").answer();
    expect([at("3"), at("4")]).toEqual(["dedicated 1", undefined]);
  });
});

describe("a waiting call", () => {
  it("ends with its abort signal, its timeout, or the close of the server", async () => {
    const { call, learn, ended, sent, at, isolation } = setUp({ maxDedicated: 0 });
    await learn("a", "sends");
    const stop = new AbortController();
    await call("1", "a", { onServerRequest: handler("1") });
    await call("2", "a", { onServerRequest: handler("2"), signal: stop.signal });
    await call("3", "a", { onServerRequest: handler("3"), timeoutMs: 5_000 });
    await call("4", "a", { onServerRequest: handler("4") });
    stop.abort();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ended.get("2")).toBe("CANCELLED: server: waiting for a free process was cancelled");
    expect(ended.get("3")).toBe("TIMEOUT: server: waiting for a free process took longer than 5000 ms");
    await sent("1").answer();
    expect(at("4")).toBe("main");
    await call("5", "a", { onServerRequest: handler("5") });
    await isolation.close(new PortolanError("CONNECTION_CLOSED", "stopped"));
    await flush();
    expect(ended.get("5")).toBe("CONNECTION_CLOSED: stopped");
  });

  it("uses the main process if no dedicated process can be opened, and reports this once", async () => {
    let tries = 0;
    const { call, learn, sent, at, reports } = setUp({
      open: async () => {
        tries += 1;
        throw new PortolanError("SERVER_START_FAILED", "no more memory");
      },
    });
    await learn("a", "sends");
    for (const id of ["1", "2", "3"]) await call(id, "a", { onServerRequest: handler(id) });
    await sent("1").answer();
    await sent("2").answer();
    expect(at("3")).toBe("main");
    expect(tries).toBe(1);
    await call("4", "a", { onServerRequest: handler("4") });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(tries).toBe(2);
    expect(reports).toMatchObject([{ code: "SERVER_START_FAILED", severity: "warning", server: "server" }]);
    expect(reports[0]?.message).toContain("no more memory");
  });
});

describe("a dedicated process", () => {
  it("stops after a minute without calls, and when the server is closed", async () => {
    const { call, learn, sent, closed, isolation } = setUp();
    await learn("a", "sends");
    for (const id of ["1", "2", "3"]) await call(id, "a", { onServerRequest: handler(id) });
    await sent("2").answer();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(await call("4", "a", { onServerRequest: handler("4") })).toBe("dedicated 1");
    await sent("3").answer();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(closed).toEqual(["dedicated 2"]);
    await isolation.close(new PortolanError("CONNECTION_CLOSED", "stopped"));
    expect([closed, isolation.dedicatedCount]).toEqual([["dedicated 2", "dedicated 1"], 0]);
  });

  it("gets no more calls after a crash or a cancelled call", async () => {
    const { call, learn, sent, closed, crash } = setUp();
    await learn("a", "sends");
    for (const id of ["1", "2", "3"]) await call(id, "a", { onServerRequest: handler(id) });
    crash.get("dedicated 1")?.();
    await sent("2").fail("SERVER_CRASHED");
    await sent("3").fail("CANCELLED");
    expect(closed).toEqual(["dedicated 1", "dedicated 2"]);
    expect(await call("4", "a", { onServerRequest: handler("4") })).toBe("dedicated 3");
  });

  it("is used after another client's call on the main process was cancelled", async () => {
    const { call, learn, sent } = setUp();
    await learn("a", "sends");
    await call("1", "a", { onServerRequest: handler("1"), client: "A" });
    await sent("1").fail("CANCELLED");
    expect(await call("2", "a", { onServerRequest: handler("2"), client: "B" })).toBe("dedicated 1");
    expect(await call("3", "a", { onServerRequest: handler("3"), client: "A" })).toBe("main");
    await sent("3").answer();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await call("4", "a", { onServerRequest: handler("4"), client: "C" })).toBe("main");
  });
});
