import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EventWriter } from "../http/event-writer.ts";
import type { Exchange } from "../http/reply.ts";
import { LegacyHttpReply } from "./http-reply.ts";
import type { ResumableStream } from "./resumable-stream.ts";

/** A reply whose connection broke, and counters of its cancellations. */
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

it("waits 30 seconds for a disconnected client, and then cancels its call once", () => {
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

it("does not cancel the call of a reconnected client until it disconnects again", () => {
  const { streams, seen, connection, writer } = setUp();
  vi.advanceTimersByTime(20_000);
  streams.get("1")?.attach(writer);
  vi.advanceTimersByTime(600_000);
  expect(seen.cancelled).toBe(0);
  connection.closed = true;
  vi.advanceTimersByTime(45_000);
  expect(seen).toEqual({ cancelled: 1, done: 1 });
});

it("keeps the response for a disconnected client for 30 seconds", () => {
  const { streams, seen, reply } = setUp();
  reply.end("the answer");
  expect(seen).toEqual({ cancelled: 0, done: 1 });
  expect(streams.size).toBe(1);
  vi.advanceTimersByTime(30_000);
  expect(streams.size).toBe(0);
});
