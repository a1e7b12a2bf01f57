import { expect, it } from "vitest";
import type { EventWriter } from "../http/event-writer.ts";
import { ResumableStream, readEventId } from "./resumable-stream.ts";

/** A fake connection that records the written events until it breaks. */
function connection(): {
  writer: EventWriter;
  events: [string, string][];
  break: () => void;
  ended: () => boolean;
} {
  const events: [string, string][] = [];
  let closed = false;
  let ended = false;
  const writer = {
    get closed() {
      return closed;
    },
    event: (text: string, id: string) => events.push([id, text]),
    end: () => {
      closed = true;
      ended = true;
    },
  } as unknown as EventWriter;
  return { writer, events, break: () => (closed = true), ended: () => ended };
}

it("the stream continues on another connection after the last received event", () => {
  const stream = new ResumableStream("7");
  const first = connection();
  stream.attach(first.writer);
  stream.prime();
  stream.push("a");
  first.break();
  expect(stream.connected).toBe(false);
  stream.push("b");
  const second = connection();
  stream.attach(second.writer);
  stream.push("c");
  stream.end();
  expect(first.events).toEqual([
    ["7_0", ""],
    ["7_1", "a"],
  ]);
  expect(second.events).toEqual([
    ["7_2", "b"],
    ["7_3", "c"],
  ]);
  expect(second.ended()).toBe(true);
  // A client with a Last-Event-ID gets the events after it, and the end.
  for (const [seen, rest] of [
    [0, ["a", "b", "c"]],
    [2, ["c"]],
    [3, []],
    [99, []],
  ] as const) {
    const late = connection();
    stream.attach(late.writer, seen);
    expect(late.events.map(([, text]) => text)).toEqual(rest);
    expect(late.ended()).toBe(true);
  }
});

it("a new connection of the stream ends the earlier connection", () => {
  const stream = new ResumableStream("0");
  const [first, second] = [connection(), connection()];
  stream.attach(first.writer);
  stream.attach(second.writer);
  expect(first.ended()).toBe(true);
  stream.push("a");
  expect([first.events, second.events.length]).toEqual([[], 1]);
});

it("the stream keeps a limited number of events and bytes", () => {
  const stream = new ResumableStream("0");
  for (let n = 0; n < 10; n += 1) stream.push("changed");
  for (let n = 0; n < 1_000; n += 1) stream.push(`news ${n}`);
  const late = connection();
  stream.attach(late.writer);
  expect(late.events).toHaveLength(256);
  expect(late.events.at(-1)?.[1]).toBe("news 999");
  const large = new ResumableStream("1");
  for (let n = 0; n < 100; n += 1) large.push(`${n} ${"x".repeat(50_000)}`);
  const after = connection();
  large.attach(after.writer);
  expect(after.events.length).toBeLessThan(30);
  // The last event is always kept, however large, because it may be the response.
  expect(after.events.at(-1)?.[1]).toMatch(/^99 x/);
  large.push("y".repeat(10_000_000));
  expect(after.events.at(-1)?.[1]).toHaveLength(10_000_000);
});

it("readEventId reads only event ids of the stream", () => {
  expect(readEventId("7_3")).toEqual({ stream: "7", seq: 3 });
  for (const id of ["", "_", "_1", "7", "7_x", "7_1.5"]) expect(readEventId(id)).toBeUndefined();
});

it("with dropsDuplicates, an unreceived notification is sent once; messages of a call are all sent", () => {
  const texts = (stream: ResumableStream): string[] => {
    stream.push("same");
    stream.push("same");
    const later = connection();
    stream.attach(later.writer);
    return later.events.map(([, text]) => text);
  };
  expect(texts(new ResumableStream("0", { dropsDuplicates: true }))).toEqual(["same"]);
  expect(texts(new ResumableStream("1"))).toEqual(["same", "same"]);
});
