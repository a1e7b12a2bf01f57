import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import type { GatewayFacts } from "../control/index.ts";
import type { HttpResponse } from "../gateway/index.ts";
import { EventBus, type OpenedWorkspace } from "../hub/index.ts";
import { CallObservers } from "../telemetry/index.ts";
import { LiveFeed } from "./live-feed.ts";
import { CallSeries } from "./series.ts";

function setUp() {
  const [events, calls, series] = [new EventBus(() => {}), new CallObservers(), new CallSeries()];
  const workspace = { events, calls, hub: { members: [] } } as unknown as OpenedWorkspace;
  const feed = new LiveFeed({ workspace, series, facts: () => ({}) as GatewayFacts });
  onTestFinished(() => feed.close());
  /** Calls a tool as the gateway does: nothing is measured while nobody observes. */
  const call = (tool: string, method = "tools/call"): void => {
    if (!calls.active) return;
    const start = { method, params: { name: tool }, requestId: 1, caller: "me" } as const;
    const observation = calls.begin({ ...start, transport: "http", era: "modern", revision: "r" });
    observation.routed("files", tool);
    observation.finish();
  };
  return { feed, calls, series, events, call };
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

test("a page gets the calls and events from before it was opened, each once", async () => {
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
  // Only the time in which every call is measured is counted.
  expect(series.tools().map(({ tool, calls }) => [tool, calls])).toEqual([["later", 1]]);
  page.close();
  await new Promise((resolve) => setImmediate(resolve));
  call("between");
  const second = openPage(feed);
  call("last");
  await expect.poll(() => toolsOf(second.read("calls"))).toEqual([["last"]]);
  expect(toolsOf(second.read("history"))).toEqual([["read", "write", "later", "between"]]);
});

test("without a page, a busy gateway is not measured; an open page measures every call", () => {
  const { feed, calls, call } = setUp();
  for (let number = 0; number < 50; number += 1) call(`t${number}`);
  expect(calls.active).toBe(false);
  const page = openPage(feed);
  expect(calls.active).toBe(true);
  for (let number = 0; number < 50; number += 1) call(`t${number}`);
  expect(calls.active).toBe(true);
  page.close();
});

test("the calls that are kept are bounded", () => {
  const { feed, call } = setUp();
  openPage(feed);
  for (let number = 0; number < 1_000; number += 1) call(`t${number}`);
  const second = openPage(feed);
  return expect.poll(() => toolsOf(second.read("history"))[0]).toHaveLength(300);
});

test("after the end, nothing is observed", () => {
  const { feed, calls } = setUp();
  feed.close();
  expect(calls.active).toBe(false);
});
