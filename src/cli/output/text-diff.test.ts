import { expect, test } from "vitest";
import { diffLines } from "./text-diff.ts";

const signs = (before: string, after: string): string[] =>
  diffLines(before, after).map(({ sign, text }) => `${sign}${text}`);

test("diffLines returns changed lines with one unchanged line around them", () => {
  expect(signs("a\nb\nc\nd\n", "a\nb\nx\nc\nd\n")).toEqual([" b", "+x", " c"]);
  expect(signs("a\nb\nc\n", "a\nc\n")).toEqual([" a", "-b", " c"]);
  expect(signs("a\nb\nc\nd\ne\n", "x\nb\nc\nd\ny\n")).toEqual(["-a", "+x", " b", " d", "-e", "+y"]);
  expect(signs("", "a\n")).toEqual(["+a"]);
  expect(signs("a\n", "a\n")).toEqual([]);
});

test("diffLines compares long texts in bounded time", () => {
  const many = (word: string): string => Array.from({ length: 3_000 }, (_, n) => `${word} ${n}`).join("\n");
  expect(diffLines(many("a"), many("b"))).toHaveLength(6_000);
});
