import { expect, test } from "vitest";
import { Intake, type Parsed } from "./intake.ts";

const intake = (): Intake => new Intake(() => 4 * 1024 * 1024);
const large = (size: number): Buffer => Buffer.from(JSON.stringify(Array.from({ length: size }, () => 1)));
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

function parse(text: string | Buffer): Promise<Parsed> {
  return new Promise((resolve) => intake().parse("ann", Buffer.from(text), resolve));
}

test("a small message is parsed synchronously", () => {
  const found: Parsed[] = [];
  intake().parse("ann", Buffer.from('{"a":[1]}'), (parsed) => found.push(parsed));
  expect(found).toEqual([{ value: { a: [1] } }]);
});

test("large messages are parsed one per event loop turn, callers alternate, small ones of others go first", async () => {
  const order: string[] = [];
  const one = intake();
  const send = (caller: string, name: string, bytes: Buffer): void =>
    one.parse(caller, bytes, () => order.push(name));
  for (const name of ["ann 1", "ann 2", "ann 3"]) send("ann", name, large(50_000));
  send("ann", "ann 4 (small)", large(1));
  send("bob", "bob 1", large(50_000));
  send("eve", "eve 1 (small)", large(1));
  expect(order).toEqual(["eve 1 (small)"]);
  let longest = 0;
  for (let turns = 0; order.length < 6; turns += 1) {
    const before = order.length;
    await nextTurn();
    longest = Math.max(longest, order.length - before);
    expect(turns).toBeLessThan(100);
  }
  expect(longest).toBe(1);
  expect(order.filter((name) => name.startsWith("ann"))).toEqual([
    "ann 1",
    "ann 2",
    "ann 3",
    "ann 4 (small)",
  ]);
  expect(order.indexOf("bob 1")).toBeLessThan(order.indexOf("ann 2"));
});

test.each([
  ["that is nested too deeply", "[".repeat(129) + "]".repeat(129), -32600, /deeper than 128/],
  ["that is nested too deeply and not JSON", "[".repeat(4_000_000), -32600, /deeper than 128/],
  ["with too many members", `{${'"a":1,'.repeat(40_000)}"a":1}`, -32600, /too many values/],
  ["with too many items", large(100_002), -32600, /too many values/],
  ["that is not JSON", "nonsense", -32700, /not JSON/],
  ["that is large and not JSON", `[${"x".repeat(100_000)}`, -32700, /not JSON/],
  ["that is empty", "", -32700, /not JSON/],
])("a message %s is refused", async (_what, text, code, message) => {
  expect(await parse(text)).toMatchObject({ error: { code, message: expect.stringMatching(message) } });
});

test("a large message with a simple structure is accepted", async () => {
  const text = "[[".repeat(60) + JSON.stringify("é[{,".repeat(500_000)) + "]]".repeat(60);
  expect(await parse(text)).toHaveProperty("value");
  expect(await parse(large(99_000))).toHaveProperty("value");
});
