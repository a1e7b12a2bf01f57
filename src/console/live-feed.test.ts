import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import type { GatewayFacts } from "../control/index.ts";
import type { HttpResponse } from "../gateway/index.ts";
import { EventBus, type OpenedWorkspace } from "../hub/index.ts";
import { CallObservers } from "../telemetry/index.ts";
import { LiveFeed } from "./live-feed.ts";
import { CallSeries } from "./series.ts";

function setUp() {
  const [events, calls, series] = [new EventBus(() => {}), new CallObservers(), new CallSeries()];
  const members: unknown[] = [];
  const workspace = { events, calls, hub: { members } } as unknown as OpenedWorkspace;
  const feed = new LiveFeed({ workspace, series, facts: () => ({}) as GatewayFacts });
  onTestFinished(() => feed.close());
  /** Calls a tool as the gateway does: without an observer, the gateway does not measure the call. */
  const call = (tool: string, method = "tools/call"): void => {
    if (!calls.active) return;
    const start = { method, params: { name: tool }, requestId: 1, caller: "me" } as const;
    const observation = calls.begin({ ...start, transport: "http", era: "modern", revision: "r" });
    observation.routed("files", tool);
    observation.finish();
  };
  return { feed, calls, series, events, call, members };
}

/** The process group of this test. */
function ownGroup(): number {
  return Number(/\) \S \d+ (\d+)/.exec(readFileSync("/proc/self/stat", "latin1"))?.[1]);
}

/** Opens a page, and returns the messages that it has got, by name. */
function openPage(feed: LiveFeed): { close(): void; read(name: string): unknown[] } {
  const stream = new PassThrough();
  let text = "";
  stream.on("data", (chunk) => (text += String(chunk)));
  const response = Object.assign(stream, { writeHead: () => stream, flushHeaders: () => {} });
  feed.open(response as unknown as HttpResponse, undefined);
  return {
    close: () => void stream.destroy(),
    read: (name) =>
      text
        .split("\n\n")
        .filter((message) => message.startsWith(`event: ${name}\n`))
        .map((message): unknown => JSON.parse(message.slice(message.indexOf("data: ") + 6))),
  };
}

const toolsOf = (messages: unknown[]): unknown[] =>
  (messages as { tool: string }[][]).map((records) => records.map(({ tool }) => tool));

test("a page gets the earlier calls and events, each once", async () => {
  const { feed, call, events, series } = setUp();
  call("read");
  call("", "tools/list");
  call("write");
  events.emit({ type: "mcp.server_ready", server: "files" });
  const page = openPage(feed);
  call("later");
  await expect.poll(() => toolsOf(page.read("calls"))).toEqual([["later"]]);
  expect(toolsOf(page.read("history"))).toEqual([["read", "write"]]);
  expect(page.read("events")).toMatchObject([{ events: [{ type: "mcp.server_ready" }] }]);
  // The series counts calls only while a page is open, because only then every call is measured.
  expect(series.tools().map(({ tool, calls }) => [tool, calls])).toEqual([["later", 1]]);
  page.close();
  await new Promise((resolve) => setImmediate(resolve));
  call("between");
  const second = openPage(feed);
  call("last");
  await expect.poll(() => toolsOf(second.read("calls"))).toEqual([["last"]]);
  expect(toolsOf(second.read("history"))).toEqual([["read", "write", "later", "between"]]);
});

test.runIf(process.platform === "linux")(
  "the memory of a server that starts during a measurement is in the next measurement",
  async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const groups = new Set<number>();
    let isStarted = false;
    const processes = {
      main: { stats: () => ({ inFlight: 0 }) },
      get groups() {
        // The first reader is the measurement, which takes longer than this.
        if (!isStarted) queueMicrotask(() => groups.add(ownGroup()));
        isStarted = true;
        return groups;
      },
    };
    const member = { alias: "files", config: { origin: {}, endpoint: {} }, processes };
    const { feed, members } = setUp();
    const page = openPage(feed);
    members.push(member);
    const sample = async (): Promise<unknown> => {
      const before = page.read("sample").length;
      vi.advanceTimersByTime(2_000);
      await expect.poll(() => page.read("sample").length).toBe(before + 1);
      return page.read("sample").at(-1);
    };
    expect(await sample()).toMatchObject({ servers: [{ alias: "files", processes: [] }] });
    expect(await sample()).toMatchObject({
      servers: [{ memory: expect.any(Number), processes: [{ pid: ownGroup() }] }],
    });
  },
);

test("the latency of a tool does not contain the time that calls waited for approval", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { feed, calls, series } = setUp();
  const page = openPage(feed);
  const start = { method: "tools/call", params: { name: "write" }, requestId: 1, caller: "me" } as const;
  const observation = calls.begin({ ...start, transport: "http", era: "modern", revision: "r" });
  observation.routed("files", "write");
  observation.waits();
  vi.advanceTimersByTime(60_000);
  observation.resumed();
  vi.advanceTimersByTime(8);
  observation.finish();
  const [tool] = series.tools();
  expect(tool).toMatchObject({ calls: 1 });
  expect(tool?.p99).toBeLessThan(20);
  page.close();
});

test("calls are measured only while a page is open", () => {
  const { feed, calls, call } = setUp();
  for (let number = 0; number < 50; number += 1) call(`t${number}`);
  expect(calls.active).toBe(false);
  const page = openPage(feed);
  expect(calls.active).toBe(true);
  for (let number = 0; number < 50; number += 1) call(`t${number}`);
  expect(calls.active).toBe(true);
  page.close();
});

test("the feed keeps at most 300 calls", () => {
  const { feed, call } = setUp();
  // Opening a page sends the waiting calls to the pages before it.
  for (let part = 0; part < 10; part += 1) {
    openPage(feed);
    for (let number = 0; number < 40; number += 1) call(`t${number}`);
  }
  const last = openPage(feed);
  return expect.poll(() => toolsOf(last.read("history"))[0]).toHaveLength(300);
});

test("a page of a busy gateway gets a part of the calls, and the time series counts all of them", async () => {
  const { feed, calls, call, series } = setUp();
  const page = openPage(feed);
  expect(calls.needs.phases).toBe(true);
  for (let number = 0; number < 500; number += 1) call("busy");
  expect(calls.needs.phases).toBe(false);
  await expect.poll(() => toolsOf(page.read("calls"))[0]).toHaveLength(50);
  expect(series.tools()).toMatchObject([{ tool: "busy", calls: 500 }]);
  call("after");
  await expect.poll(() => toolsOf(page.read("calls"))[1]).toEqual(["after"]);
});

test("a closed feed observes no calls", () => {
  const { feed, calls } = setUp();
  feed.close();
  expect(calls.active).toBe(false);
});
