import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findFiles, isPattern, splitPattern } from "./glob.ts";

const top = mkdtempSync(join(tmpdir(), "portolan-glob-"));
for (const file of ["a.yaml", "ab.yaml", "x/a.yaml", "x/y/b.json", ".dot/a.yaml", "x/.a.yaml"]) {
  mkdirSync(join(top, file, ".."), { recursive: true });
  writeFileSync(join(top, file), "");
}

test.each([
  ["*", ["a.yaml", "ab.yaml"]],
  ["*.yaml", ["a.yaml", "ab.yaml"]],
  ["?.yaml", ["a.yaml"]],
  ["a*b*", ["ab.yaml"]],
  ["**/*.yaml", ["a.yaml", "ab.yaml", "x/a.yaml"]],
  ["**", ["a.yaml", "ab.yaml", "x/a.yaml", "x/y/b.json"]],
  ["*/a.yaml", ["x/a.yaml"]],
  ["x/**/b.*", ["x/y/b.json"]],
  [".*/a.yaml", [".dot/a.yaml"]],
  ["x/.*", ["x/.a.yaml"]],
  ["none/*", []],
  ["*/", []],
])("findFiles() resolves the pattern %s", async (pattern, expected) => {
  expect(isPattern(pattern)).toBe(true);
  const { base, steps } = splitPattern(pattern);
  const { files } = await findFiles(join(top, base), steps);
  expect(files.map((file) => file.slice(top.length + 1))).toEqual(expected);
});

test("splitPattern() keeps the fixed folder of an absolute pattern", () => {
  expect(splitPattern("/*.yaml")).toEqual({ base: "/", steps: ["*.yaml"] });
  expect(splitPattern("/a/b/*/c")).toEqual({ base: "/a/b", steps: ["*", "c"] });
});

test("a hostile pattern is matched in bounded time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-glob-slow-"));
  writeFileSync(join(folder, "a".repeat(200)), "");
  const started = performance.now();
  await findFiles(folder, [`${"*a".repeat(100)}b`]);
  await findFiles(
    top,
    Array.from({ length: 30 }, () => "**"),
  );
  expect(performance.now() - started).toBeLessThan(15_000);
});
