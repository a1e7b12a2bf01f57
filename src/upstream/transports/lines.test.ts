import type { RequestId, RpcMessage } from "../../model/index.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "./lines.ts";

function reader(maxBytes = 1_000_000): {
  push: (bytes: string | Buffer) => void;
  messages: RpcMessage[];
  noise: string[];
  oversized: (RequestId | undefined)[];
  partial: () => string;
} {
  const messages: RpcMessage[] = [];
  const noise: string[] = [];
  const oversized: (RequestId | undefined)[] = [];
  const lines = new LineReader(maxBytes, {
    message: (message) => messages.push(message),
    noise: (line) => noise.push(line),
    oversized: (id) => oversized.push(id),
  });
  return {
    push: (bytes) => lines.push(Buffer.from(bytes)),
    messages,
    noise,
    oversized,
    partial: () => lines.partial(),
  };
}

const answer = (id: number, text: string): RpcMessage => ({ jsonrpc: "2.0", id, result: { text } });

describe("LineReader", () => {
  it("gives the same messages for any split of the bytes", () => {
    const message = fc.record({ id: fc.nat(), text: fc.string({ unit: "binary" }) });
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 8 }),
        fc.array(fc.nat({ max: 400 })),
        fc.constantFrom("\n", "\r\n"),
        (items, cuts, eol) => {
          const sent = items.map(({ id, text }) => answer(id, text));
          const bytes = Buffer.from(sent.map((one) => JSON.stringify(one) + eol).join(""));
          const { push, messages, noise } = reader();
          let at = 0;
          for (const cut of cuts) {
            push(bytes.subarray(at, at + cut));
            at += cut;
          }
          push(bytes.subarray(at));
          expect(messages).toEqual(JSON.parse(JSON.stringify(sent)));
          expect(noise).toEqual([]);
        },
      ),
    );
  });

  it("accepts a byte order mark, blank lines and batches", () => {
    const { push, messages, noise } = reader();
    push(`\uFEFF${JSON.stringify(answer(1, "a"))}\r\n\r\n\n`);
    push(`${JSON.stringify([answer(2, "b"), answer(3, "c")])}\n`);
    expect(messages.map((message) => "id" in message && message.id)).toEqual([1, 2, 3]);
    expect(noise).toEqual([]);
  });

  it("reports lines that are not JSON-RPC as noise and continues", () => {
    const { push, messages, noise } = reader();
    push(`Server started\n{not json}\n42\n{"level":"info"}\n[]\n${JSON.stringify(answer(1, "a"))}\n`);
    expect(noise).toHaveLength(5);
    expect(messages).toHaveLength(1);
  });

  it("skips a message above the size limit, reports its request id if possible, and continues", () => {
    const { push, messages, oversized } = reader(300);
    const big = "x".repeat(1_000);
    push(`${JSON.stringify(answer(7, big))}\n`);
    push(`{"jsonrpc":"2.0","result":{"text":"${big}"},"id":8}\n`);
    push(`{"result":{"text":"${big}"}}\n`);
    push(`${JSON.stringify(answer(9, "small"))}\n`);
    expect(oversized).toEqual([7, 8, undefined]);
    expect(messages).toEqual([answer(9, "small")]);
  });

  it("reports an oversized message as soon as its id is known, and keeps no part of it", () => {
    const { push, messages, oversized, partial } = reader(300);
    push('{"jsonrpc":"2.0","id":5,"result":{"text":"');
    for (let i = 0; i < 100; i += 1) push("y".repeat(100));
    expect(oversized).toEqual([5]);
    expect(partial()).toBe("");
    push(`"}}\n${JSON.stringify(answer(6, "next"))}\n`);
    expect(messages).toEqual([answer(6, "next")]);
  });

  it("finds an id at the end of a message that arrives in pieces", () => {
    const { push, oversized } = reader(300);
    const bytes = `{"jsonrpc":"2.0","result":{"text":"${"z".repeat(2_000)}"},"id":12}\n`;
    for (let at = 0; at < bytes.length; at += 7) push(bytes.slice(at, at + 7));
    expect(oversized).toEqual([12]);
  });

  it("returns the start of an unfinished line", () => {
    const { push, partial } = reader();
    push('{"jsonrpc":"2.0","id":1,"resu');
    expect(partial()).toBe('{"jsonrpc":"2.0","id":1,"resu');
  });
});
