import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EventWriter } from "../http/event-writer.ts";
import type { Exchange } from "../http/reply.ts";
import { LegacyHttpReply } from "./http-reply.ts";
import type { ResumableStream } from "./resumable-stream.ts";

/** A reply whose connection has broken, and how often it was given up. */
function setUp() {
  const streams = new Map<string, ResumableStream>();
  const seen = { cancelled: 0, done: 0 };
  const exchange = {
    response: { destroyed: true, once: () => {} } as unknown as ServerResponse,
    onDisconnect: undefined as (() => void) | undefined,
    done: () => (seen.done += 1),
  };
  const reply = new LegacyHttpReply(exchange as unknown as Exchange, {
    accepts: { json: true, stream: true },
    headers: {},
    primed: true,
    streams,
    newStreamId: () => "1",
  });
  reply.onCancel = () => (seen.cancelled += 1);
  reply.send("a question");
  exchange.onDisconnect?.();
  const connection = { closed: false, event: () => {}, end: () => {} };
  return { reply, streams, seen, connection, writer: connection as unknown as EventWriter };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("waits half a minute for a client that is away, and then gives its call up, once", () => {
  const { streams, seen, reply } = setUp();
  vi.advanceTimersByTime(29_999);
  expect(seen).toEqual({ cancelled: 0, done: 0 });
  vi.advanceTimersByTime(1);
  expect(seen).toEqual({ cancelled: 1, done: 1 });
  expect(streams.size).toBe(0);
  reply.end("too late");
  vi.advanceTimersByTime(100_000);
  expect(seen).toEqual({ cancelled: 1, done: 1 });
});

it("waits for ever for one that came back, and not for one that leaves again", () => {
  const { streams, seen, connection, writer } = setUp();
  vi.advanceTimersByTime(20_000);
  streams.get("1")?.attach(writer);
  vi.advanceTimersByTime(600_000);
  expect(seen.cancelled).toBe(0);
  connection.closed = true;
  vi.advanceTimersByTime(45_000);
  expect(seen).toEqual({ cancelled: 1, done: 1 });
});

it("keeps the answer for a client that is away, for as long", () => {
  const { streams, seen, reply } = setUp();
  reply.end("the answer");
  expect(seen).toEqual({ cancelled: 0, done: 1 });
  expect(streams.size).toBe(1);
  vi.advanceTimersByTime(30_000);
  expect(streams.size).toBe(0);
});
