// Placement with fake connections: the connection that each call is sent to.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ErrorCode, PortolanError } from "../../errors/index.ts";
import type { ServerConfig, Era } from "../../model/index.ts";
import {
  type Caller,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
} from "../../upstream/index.ts";
import { Placement } from "./placement.ts";

type Transport = "stdio" | "http";

function setUp(
  transport: Transport,
  era: Era,
  more: { pinned?: Era; fails?: () => PortolanError | undefined } = {},
) {
  const opened: (Caller | undefined)[] = [];
  const closed: string[] = [];
  const emitters = new Map<string, Emitter<UpstreamEvents>>();
  let asks: { related: boolean } | undefined;
  const fake = (name: string): Upstream => {
    const emitter = new Emitter<UpstreamEvents>();
    emitters.set(name, emitter);
    const upstream: Partial<Upstream> = {
      stats: () => ({ ambiguous: 0, declined: 0 }) as never,
      describe: () => ({ transport }) as Description,
      on: (event, listener) => emitter.on(event, listener),
      request: async ({ onServerRequest: ask }) => {
        const signal = new AbortController().signal;
        if (asks !== undefined) await ask?.({ id: 1, method: "m", params: {}, signal, ...asks });
        return { at: name };
      },
    };
    return upstream as Upstream;
  };
  const main = fake("main");
  const endpoint =
    transport === "http" ? { transport: "http", url: "http://x" } : { transport, command: "x" };
  const placement = new Placement({
    alias: "server",
    config: { endpoint, era: more.pinned } as ServerConfig,
    timeoutMs: 60_000,
    report: () => {},
    main: () => main,
    open: async (_signal, caller) => {
      const error = more.fails?.();
      opened.push(caller);
      if (error !== undefined) throw error;
      const name = `other ${opened.length}`;
      return { upstream: fake(name), release: async () => void closed.push(name) };
    },
  });
  placement.describe({ era, transport } as never);
  const call = async (caller: Partial<Caller>, tool = "t"): Promise<unknown> => {
    const { capabilities = { elicitation: {} } } = caller;
    const whole = { clientInfo: { name: "c", version: "1" }, ...caller, capabilities };
    const ask = "elicitation" in capabilities ? async () => ({}) : undefined;
    const { at } = await placement.request(main, {
      method: "tools/call",
      params: { name: tool },
      caller: whole,
      onServerRequest: ask,
    });
    return at;
  };
  return {
    ...{ placement, opened, closed, call, emitters },
    asks: (related: boolean) => {
      asks = { related };
    },
  };
}

const legacy = (id: string, more: Partial<Caller> = {}): Partial<Caller> => ({ id, era: "legacy", ...more });
const modern = (id: string): Partial<Caller> => ({ id, era: "modern" });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a server that supports both protocol eras", () => {
  it.each(["stdio", "http"] as const)(
    "serves modern callers and callers without elicitation on the main connection (%s)",
    async (transport) => {
      const { call, opened } = setUp(transport, "modern");
      expect(await call(modern("m"))).toBe("main");
      expect(await call({ id: undefined })).toBe("main");
      expect(await call(legacy("l", { capabilities: {} }))).toBe("main");
      expect(opened).toEqual([]);
    },
  );

  it("gets one process for all legacy callers on stdio, and one session for each over HTTP", async () => {
    const stdio = setUp("stdio", "modern");
    expect([await stdio.call(legacy("a")), await stdio.call(legacy("b"))]).toEqual(["other 1", "other 1"]);
    const http = setUp("http", "modern");
    expect([await http.call(legacy("a")), await http.call(legacy("b"))]).toEqual(["other 1", "other 2"]);
    expect(await http.call(legacy("a"))).toBe("other 1");
    expect(http.opened.map((caller) => caller?.id)).toEqual(["a", "b"]);
  });

  it("is called only in the era that the config names", async () => {
    const { call } = setUp("http", "modern", { pinned: "modern" });
    expect(await call(legacy("a"))).toBe("main");
  });
});

describe("a session that cannot be opened", () => {
  const failing =
    (code: ErrorCode, data = {}) =>
    () =>
      new PortolanError(code, "no", { data });

  it("is not opened again after an unsupported version, and the main connection serves the caller", async () => {
    const { call, opened, placement } = setUp("http", "modern", { fails: failing("VERSION_UNSUPPORTED") });
    expect(await call(legacy("a"))).toBe("main");
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(await call(legacy("a"))).toBe("main");
    expect(opened).toHaveLength(1);
    placement.describe({ era: "modern", transport: "http" } as never);
    await call(legacy("a"));
    expect(opened).toHaveLength(2);
  });

  it.each([["CONNECTION_LOST", {}] as const, ["HTTP_ERROR", { status: 503 }] as const])(
    "is opened again later after %s",
    async (code, data) => {
      const { call, opened } = setUp("http", "modern", { fails: failing(code, data) });
      expect(await call(legacy("a"))).toBe("main");
      await call(legacy("a"));
      expect(opened).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(31_000);
      await call(legacy("a"));
      expect(opened).toHaveLength(2);
    },
  );
});

describe("a session of a caller", () => {
  it("ends when the caller leaves, when it is idle for long, and when its connection fails", async () => {
    const { call, closed, placement, emitters } = setUp("http", "legacy");
    const left = new AbortController();
    await call(legacy("a", { ended: left.signal }));
    await call(legacy("b"));
    await call(legacy("c"));
    expect(placement.count).toBe(3);
    left.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toEqual(["other 1"]);
    emitters.get("other 3")?.emit("stateChanged", "failed");
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toEqual(["other 1", "other 3"]);
    await vi.advanceTimersByTimeAsync(31 * 60_000);
    expect(placement.count).toBe(0);
    expect(await call(legacy("a", { ended: left.signal }))).toBe("main");
  });
});

describe("modern callers of a legacy HTTP server", () => {
  it("share the main session as soon as the server requests of a tool name their call", async () => {
    const { call, asks, opened } = setUp("http", "legacy");
    asks(true);
    expect(await call(modern("a"))).toBe("other 1");
    expect(await call(modern("b"))).toBe("main");
    expect(await call(modern("c"), "another tool")).toBe("other 1");
    expect(opened).toEqual([undefined]);
  });

  it("get separate sessions while the server requests of a tool do not name their call", async () => {
    const { call, asks } = setUp("http", "legacy");
    asks(false);
    const calls = ["a", "b"].map((id) => call(modern(id)));
    expect(await Promise.all(calls)).toEqual(["other 1", "other 2"]);
    asks(true);
    expect(await call(modern("c"))).toBe("other 1");
    expect(await call(modern("d"))).toBe("other 1");
  });
});
