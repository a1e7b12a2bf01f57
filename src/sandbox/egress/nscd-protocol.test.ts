// Requests as glibc writes them are read, other requests do no harm, and answers have the layout that glibc reads.

import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_REQUEST_BYTES, readNameRequest, writeNameAnswer } from "./nscd-protocol.ts";

function request(type: number, key: string | Buffer, { version = 2, length = key.length } = {}): Buffer {
  const header = Buffer.alloc(12);
  for (const [index, value] of [version, type, length].entries()) header.writeInt32LE(value, index * 4);
  return Buffer.concat([header, Buffer.from(key as string, "latin1")]);
}

const numbers = (bytes: Buffer, count: number): number[] =>
  Array.from({ length: count }, (_, index) => bytes.readInt32LE(index * 4));

test.each([
  [14, "api.example.com\0", { asks: "name", name: "api.example.com", family: "all" }],
  [4, "api.example.com\0", { asks: "name", name: "api.example.com", family: 4 }],
  [5, "a\0b\0", { asks: "name", name: "a\0b", family: 6 }],
  [14, "\0", { asks: "name", name: "", family: "all" }],
  [6, "\x7f\0\0\x01", { asks: "address", isLoopback: true, family: 4 }],
  [6, "\x08\x08\x08\x08", { asks: "address", isLoopback: false, family: 4 }],
  [7, `${"\0".repeat(15)}\x01`, { asks: "address", isLoopback: true, family: 6 }],
  [7, "\x7f\0\0\x01", { asks: "address", isLoopback: false, family: 6 }],
  [13, "hosts\0", { asks: "else" }],
  [1, "0\0", { asks: "else" }],
  [99, "", { asks: "else" }],
  [-1, "x", { asks: "else" }],
])("reads the request %i %j", (type, key, expected) => {
  expect(readNameRequest(request(type, key))).toEqual(expected);
});

test("waits for the rest of an incomplete request, and not for the rest of an invalid one", () => {
  const whole = request(14, "a.test\0");
  for (let length = 0; length < whole.length; length += 1)
    expect(readNameRequest(whole.subarray(0, length))).toBe("more");
  expect(readNameRequest(request(14, "a.test"))).toBe("malformed");
  expect(readNameRequest(request(14, ""))).toBe("malformed");
  expect(readNameRequest(request(14, "a\0", { version: 1 }))).toBe("malformed");
  for (const length of [-1, MAX_REQUEST_BYTES - 11, 2 ** 31 - 1])
    expect(readNameRequest(request(14, "a\0", { length }))).toBe("malformed");
});

test("never throws, and decides within its size limits", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 2_000 }),
        fc
          .tuple(fc.integer({ min: -1, max: 25 }), fc.uint8Array({ maxLength: 1_100 }))
          .map(([type, key]) => request(type, Buffer.from(key))),
      ),
      (bytes) => {
        const read = readNameRequest(Buffer.from(bytes));
        if (bytes.length >= MAX_REQUEST_BYTES) expect(read).not.toBe("more");
        if (typeof read === "object" && read.asks === "name") expect(read.name.length).toBeLessThan(1_024);
      },
    ),
    { numRuns: 2_000 },
  );
});

test("an unknown host is reported as not found", () => {
  expect(numbers(writeNameAnswer("all", []), 6)).toEqual([2, 0, 0, 0, 0, 1]);
  for (const family of [4, 6] as const) {
    const answer = writeNameAnswer(family, []);
    expect([answer.length, ...numbers(answer, 8)]).toEqual([32, 2, 0, 0, 0, -1, -1, 0, 1]);
  }
  expect(writeNameAnswer(6, [4])).toEqual(writeNameAnswer(6, []));
});

test("the answer for the sandbox itself has its loopback addresses", () => {
  const all = writeNameAnswer("all", [6, 4]);
  expect(numbers(all, 6)).toEqual([2, 1, 2, 20, 10, 0]);
  expect([...all.subarray(24, 46)]).toEqual([...Array.from({ length: 15 }, () => 0), 1, 127, 0, 0, 1, 10, 2]);
  expect(all.subarray(46).toString()).toBe("localhost\0");
  const one = writeNameAnswer(4, [4]);
  expect(numbers(one, 8)).toEqual([2, 1, 10, 0, 2, 4, 1, 0]);
  expect(one.subarray(32)).toEqual(Buffer.from("localhost\0\x7f\0\0\x01", "latin1"));
});
