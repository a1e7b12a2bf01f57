// Examples that contradict their own contract are reported with their position in the file.

import { expect, test } from "vitest";
import type { Contract } from "../../../model/index.ts";
import { checkExamples, parseTool } from "../index.ts";

const file = (...examples: string[]): string => `---
name: Read
id: fs-read
description: Reads.
version: 1.0.0
inputs:
  type: object
  properties: { path: { type: string }, lines: { type: integer, default: 5 }, tags: { type: array, items: { type: string } } }
  required: [path, lines]
outputs: { type: string }
examples:
${examples.map((one) => `  - ${one}`).join("\n")}
---
`;

const check = async (...examples: string[]): Promise<(string | number | undefined)[][]> => {
  const text = file(...examples);
  const found = await checkExamples(parseTool(text, "TOOL.md").contract as Contract, text);
  return found.map(({ severity, line, path, message }) => [severity, line, path, message]);
};

test("accepts examples that match, and applies defaults as a call does", async () => {
  expect(
    await check("{ name: a, input: { path: x }, output: y }", "{ name: b, input: { path: x } }"),
  ).toEqual([]);
});

test("reports each example that does not match, with its position", async () => {
  expect(
    await check(
      "{ name: good, input: { path: x } }",
      "{ name: bad, input: { path: x, tags: [a, 1] }, output: 7 }",
      "{ name: odd, input: { pth: x } }",
    ),
  ).toEqual([
    ["error", 13, "/examples/1/input/tags/1", expect.stringContaining('the input of the example "bad"')],
    ["error", 13, "/examples/1/output", expect.stringContaining("does not match outputs")],
    ["error", 14, "/examples/2/input", expect.stringContaining("path")],
    ["error", 14, expect.stringContaining("/examples/2/input"), expect.stringContaining("pth")],
  ]);
});

test("accepts a contract without examples", async () => {
  const text = file().replace("examples:\n", "");
  expect(await checkExamples(parseTool(text, "TOOL.md").contract as Contract, text)).toEqual([]);
});
