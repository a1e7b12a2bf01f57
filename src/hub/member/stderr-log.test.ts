// The stderr log of a server: it keeps a limited number of whole, redacted lines.

import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor, Secret } from "../../secrets/index.ts";
import { StderrLog, StderrLogs } from "./stderr-log.ts";

const SECRET = "sekret-0123456789";
function redactor() {
  const created = createRedactor();
  created.add(new Secret(SECRET));
  return created;
}
const texts = (log: StderrLog, count = 5_000): string[] => log.tail(count).map(({ text }) => text);

test("the log has whole lines from any chunks, and the unfinished last line when the process ends", () => {
  const log = new StderrLog(redactor());
  for (const part of ["a", "b\nc", "d\r\n", "e"]) log.write(part);
  expect(texts(log)).toEqual(["ab", "cd"]);
  log.ended();
  expect(texts(log)).toEqual(["ab", "cd", "e"]);
  expect(texts(log, 1)).toEqual(["e"]);
  expect(texts(log, 0)).toEqual([]);
});

test("a secret is redacted for any chunk sizes, also in a very long line", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 1, max: 20_000 }), (before, step) => {
      const log = new StderrLog(redactor());
      const text = `${"x".repeat(before)}${SECRET}${"y".repeat(20_000)}\n`;
      for (let at = 0; at < text.length; at += step) log.write(text.slice(at, at + step));
      const all = texts(log).join("");
      expect(all).toContain("[redacted]");
      expect(all).not.toContain("sekret");
      expect(all).not.toContain("0123456789");
    }),
    { numRuns: 30 },
  );
});

test("the log keeps a limited number of lines and characters", () => {
  const log = new StderrLog(redactor());
  for (let line = 0; line < 10_000; line += 1) log.write(`${line}\n`);
  expect(texts(log)).toHaveLength(2_000);
  expect(texts(log, 1)).toEqual(["9999"]);
  for (let line = 0; line < 2_000; line += 1) log.write(`${"z".repeat(1_000)}\n`);
  expect(texts(log).join("").length).toBeLessThanOrEqual(512 * 1024);
});

test("output that a second try only repeats is left out", () => {
  const log = new StderrLog(redactor());
  const heard: string[] = [];
  log.follow(({ text }) => heard.push(text));
  log.begins();
  log.write("x.js:2\n\nSyntaxError\nNode.js");
  log.begins(true);
  log.write("x.js:2\n\nSynta");
  log.write("xError\nNode.js");
  log.ended({ exitCode: 1 });
  const once = ["x.js:2", "", "SyntaxError", "Node.js", "— the process exited with code 1 —"];
  expect(texts(log)).toEqual(once);
  // The next start is not compared.
  log.begins();
  log.write("x.js:2\n");
  expect(heard).toEqual([...once, "x.js:2"]);
});

test("output of a second try that differs is shown in full", () => {
  const again = "— the process ended, and was started again —";
  const after = (first: string, second: string): string[] => {
    const log = new StderrLog(redactor());
    log.begins();
    log.write(first);
    log.begins(true);
    log.write(second);
    log.ended();
    return texts(log);
  };
  expect(after("a\nb\n", "a\nc\n")).toEqual(["a", "b", again, "a", "c"]);
  expect(after("a\nb\n", "a\n")).toEqual(["a", "b", again, "a"]);
  expect(after("a\n", "a\nb\n")).toEqual(["a", again, "a", "b"]);
  expect(after("a\n", "b\n")).toEqual(["a", again, "b"]);
  expect(after("a\n", "")).toEqual(["a"]);
  expect(after("", "a\n")).toEqual(["a"]);
});

test("a listener gets the lines of all servers until it is removed", () => {
  const logs = new StderrLogs(redactor());
  const seen: string[] = [];
  const off = logs.follow((server, { text }) => seen.push(`${server} ${text}`));
  logs.of("a").write("1\n");
  logs.of("b").write("2\n");
  off();
  logs.of("a").write("3\n");
  expect(seen).toEqual(["a 1", "b 2"]);
  expect(texts(logs.of("a"))).toEqual(["1", "3"]);
});
