import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SseEvent, SseParser } from "./sse-parser.ts";

function parser(maxBytes = 1_000_000): { sse: SseParser; events: SseEvent[]; overflows: () => number } {
  const events: SseEvent[] = [];
  let overflows = 0;
  const sse = new SseParser(maxBytes, {
    event: (event) => events.push(event),
    oversized: () => {
      overflows += 1;
    },
  });
  return { sse, events, overflows: () => overflows };
}

const clean = (line: string): string => Buffer.from(line).toString();

describe("SseParser", () => {
  it("gives the same events for any split of the bytes and any line ends", () => {
    const text = fc
      .string({ unit: "binary", minLength: 1 })
      .filter((value) => !/[\r\n]/.test(value) && value !== "");
    fc.assert(
      fc.property(
        fc.array(fc.array(text, { minLength: 1, maxLength: 3 })),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.integer({ min: 1, max: 9 }),
        (items, eol, step) => {
          const bytes = Buffer.from(
            items.map((lines) => lines.map((line) => `data: ${line}${eol}`).join("") + eol).join(""),
          );
          const { sse, events } = parser();
          for (let at = 0; at < bytes.length; at += step) sse.push(bytes.subarray(at, at + step));
          expect(events).toEqual(
            items.map((lines) => ({ event: "message", data: lines.map(clean).join("\n") })),
          );
        },
      ),
    );
  });

  it("reads names, ids and the retry time, and ignores comments and unknown fields", () => {
    const { sse, events } = parser();
    sse.push(
      Buffer.from(
        "\uFEFF: hello\nevent: endpoint\nid: 7\nretry: 250\nfoo: bar\ndata:/messages\n\nid: a\0b\nretry: soon\ndata: x\n\n",
      ),
    );
    expect(events).toEqual([
      { event: "endpoint", data: "/messages" },
      { event: "message", data: "x" },
    ]);
    expect(sse.lastEventId).toBe("7");
    expect(sse.retryMs).toBe(250);
  });

  it("uses an event without data only for its id and its retry time", () => {
    const { sse, events } = parser();
    sse.push(Buffer.from("id: 1\nretry: 500\ndata: \n\n"));
    expect(events).toEqual([]);
    expect(sse.lastEventId).toBe("1");
  });

  it.each([
    ["one endless line", `data: ${"x".repeat(5_000)}`],
    ["many lines of one event", "data: xxxxxxxxxx\n".repeat(500)],
  ])("stops at the limit: %s", (_name, text) => {
    const { sse, events, overflows } = parser(1_000);
    for (let at = 0; at < text.length; at += 100) sse.push(Buffer.from(text.slice(at, at + 100)));
    sse.push(Buffer.from("\n\ndata: more\n\n"));
    expect(overflows()).toBe(1);
    expect(events).toEqual([]);
  });
});
