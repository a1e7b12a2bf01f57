import { describe, expect, test } from "vitest";
import { checkShape } from "./check.ts";
import { toJsonSchema } from "./json-schema.ts";
import { Diagnostics } from "./diagnostics.ts";
import { readYaml } from "./read-yaml.ts";
import type { ObjectShape } from "./shape.ts";

const SHAPE: ObjectShape = {
  type: "object",
  description: "A thing.",
  fields: {
    name: { type: "string", required: true, description: "what it is called" },
    kind: { type: "string", enum: ["small", "large"], synonyms: { big: "large" }, default: "small" },
    size: { type: "number", integer: true, minimum: 1 },
    on: { type: "boolean" },
    wait: { type: "duration" },
    words: { type: "list", items: { type: "string", scalars: true } },
    table: { type: "map", values: { type: "string" } },
    prefix: { type: "union", options: [{ type: "boolean" }, { type: "string" }] },
    parts: {
      type: "list",
      items: { type: "object", fields: { id: { type: "string", required: true, aliases: ["key"] } } },
    },
  },
};

function check(text: string): { value: unknown; problems: string[]; hints: (string | undefined)[] } {
  const { root, diagnostics } = readYaml(text, "f.yaml");
  if (root === undefined) throw new Error("not YAML");
  const problems = new Diagnostics("f.yaml", diagnostics);
  const value = checkShape(SHAPE, root, problems);
  const found = problems.sorted();
  return {
    value,
    problems: found.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`),
    hints: found.map(({ hint }) => hint),
  };
}

test("a right value comes out plain, with defaults, synonyms and aliases in place", () => {
  const text = `
name: x
kind: big
size: 3
on: true
wait: 1.5s
words: [a, 1.10, true]
table: {a: b}
prefix: hello
parts: [{key: one}, {id: two}]
x-mine: {anything: [1]}
`;
  expect(check(text)).toEqual({
    value: {
      name: "x",
      kind: "large",
      size: 3,
      on: true,
      wait: 1_500,
      words: ["a", "1.10", "true"],
      table: { a: "b" },
      prefix: "hello",
      parts: [{ id: "one" }, { id: "two" }],
    },
    problems: [],
    hints: [],
  });
  expect(check("name: x\nsize:\n").value).toEqual({ name: "x", kind: "small" });
});

test("all problems at once, each with its place and what would be right", () => {
  const text = [
    "kind: lrge",
    "size: 0",
    "on: yes",
    "wait: 5 years",
    "words: one",
    "table: [a]",
    "prefix: 5",
    "parts:",
    "  - {}",
    "  - id: 5",
    "  - id: a",
    "    key: b",
    "  - nme: x",
    "siez: 3",
    "zzzzzz: 1",
    "<<: {a: 1}",
  ].join("\n");
  const { problems, hints } = check(text);
  expect(problems).toEqual([
    "1:1  name is missing",
    '1:7 /kind kind cannot be "lrge"',
    '2:7 /size size must be a whole number of at least 1, not "0"',
    "3:5 /on on must be true or false, not text",
    '4:7 /wait wait must be a length of time such as 30, "500ms" or "2m", not "5 years"',
    "5:8 /words words must be a list, not text",
    "6:8 /table table must be an object with keys, not a list",
    "7:9 /prefix prefix must be true or false or text, not the number 5",
    "9:5 /parts/0 id is missing in parts[0]",
    "10:9 /parts/1/id parts[1].id must be text, not the number 5",
    "12:5 /parts/2/key key says the same as id at line 11, column 5",
    '13:5 /parts/3/nme unknown key "nme" in parts[3]',
    "13:5 /parts/3 id is missing in parts[3]",
    '14:1 /siez unknown key "siez"',
    '15:1 /zzzzzz unknown key "zzzzzz"',
    '16:1 /<< unknown key "<<"',
  ]);
  expect(hints).toEqual([
    "Write name: text (what it is called).",
    'Did you mean "large"?',
    undefined,
    "Write true.",
    "Write seconds, or a number with ms, s, m or h; at most 24 days, more than nothing.",
    "Write a list: [one, two], or a line with - for each.",
    undefined,
    undefined,
    "Write id: text.",
    'Put it into quotes: "5".',
    "Keep one of them.",
    "Known here: id.",
    "Write id: text.",
    'Did you mean "size"?',
    "Known here: name, kind, size, on, wait, words, table, prefix, parts.",
    "Merge keys are not read here; write the fields out.",
  ]);
});

describe("single values", () => {
  test.each([
    ["name: ''", "1:7 /name name is empty"],
    ["name:", "1:1 /name name is empty"],
    ['name: "a\\0b"', "1:7 /name name holds a NUL character"],
    ["name: x\nsize: 1.5", '2:7 /size size must be a whole number of at least 1, not "1.5"'],
    ["name: x\nsize: .inf", '2:7 /size size must be a whole number of at least 1, not ".inf"'],
    ["name: x\nwait: 0", '2:7 /wait wait must be a length of time such as 30, "500ms" or "2m", not "0"'],
    ["name: x\nwait: -1s", '2:7 /wait wait must be a length of time such as 30, "500ms" or "2m", not "-1s"'],
    [
      "name: x\nwait: 600h",
      '2:7 /wait wait must be a length of time such as 30, "500ms" or "2m", not "600h"',
    ],
    ["[a]", "1:1  the file must be an object with keys, not a list"],
    ["", "1:1  the file must be an object with keys, not nothing"],
  ])("%j", (text, expected) => {
    expect(check(text).problems).toEqual([expected]);
  });

  test.each([
    ["30", 30_000],
    ["30s", 30_000],
    ["500ms", 500],
    ["2m", 120_000],
    ["'2 m'", 120_000],
    ["1h", 3_600_000],
    ["0.5", 500],
  ])("%s is a time", (text, ms) => {
    expect(check(`name: x\nwait: ${text}`).value).toMatchObject({ wait: ms });
  });
});

test("problems know which values they are in", () => {
  const problems = new Diagnostics("f");
  problems.add({ line: 1, column: 1, path: ["a", 0, "b/c"] }, "x");
  problems.warn({ line: 1, column: 1, path: ["w"] }, "x");
  const at = (...path: (string | number)[]): boolean => problems.hasErrorIn({ line: 1, column: 1, path });
  expect([at(), at("a"), at("a", 0), at("a", 0, "b/c")]).toEqual([true, true, true, true]);
  expect([at("a", 1), at("a", 0, "b"), at("w")]).toEqual([false, false, false]);
});

test("the JSON Schema says the same", () => {
  expect(toJsonSchema(SHAPE, "Thing")).toEqual({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Thing",
    description: "A thing.",
    type: "object",
    required: ["name"],
    properties: {
      name: { description: "what it is called", type: "string", minLength: 1 },
      kind: { default: "small", enum: ["small", "large", "big"] },
      size: { type: "integer", minimum: 1 },
      on: { type: "boolean" },
      wait: { type: ["number", "string"], minimum: 0, pattern: String.raw`^\d+(\.\d+)?\s*(ms|s|m|h)?$` },
      words: { type: "array", items: { type: ["string", "number", "boolean"], minLength: 1 } },
      table: { type: "object", additionalProperties: { type: "string", minLength: 1 } },
      prefix: { anyOf: [{ type: "boolean" }, { type: "string", minLength: 1 }] },
      parts: {
        type: "array",
        items: {
          type: "object",
          properties: {
            id: { type: "string", minLength: 1 },
            key: { type: "string", minLength: 1, description: "The same as id." },
          },
          patternProperties: { "^x-": {} },
          additionalProperties: false,
        },
      },
    },
    patternProperties: { "^x-": {} },
    additionalProperties: false,
  });
});

describe("strings, lists and objects with more to them (unique, filled, open, any)", () => {
  const MORE: ObjectShape = {
    type: "object",
    open: true,
    fields: {
      id: { type: "string", pattern: "^[a-z]+$", says: "Use small letters.", maxLength: 4 },
      silent: { type: "string", pattern: "^[a-z]+$" },
      tags: { type: "list", items: { type: "string", scalars: true }, unique: true, filled: true },
      free: { type: "any" },
    },
  };
  const read = (text: string): { value: unknown; problems: unknown[] } => {
    const { root } = readYaml(text, "f.yaml");
    const problems = new Diagnostics("f.yaml");
    const value = root && checkShape(MORE, root, problems);
    return { value, problems: problems.sorted().map(({ message, hint }) => [message, hint]) };
  };

  test.each<[string, unknown]>([
    ["id: ab\nother: 1", { id: "ab" }],
    ["id: 'abcd'", { id: "abcd" }],
    ["silent: AB", { silent: "AB" }],
    ["tags: [a, 1]", { tags: ["a", "1"] }],
    ["free: { a: [1, ~] }", { free: { a: [1, null] } }],
  ])("%j is right", (text, value) => {
    expect(read(text)).toEqual({ value, problems: [] });
  });

  test.each<[string, string, string]>([
    ["id: AB", 'id cannot be "AB"', "Use small letters."],
    ["id: abcde", "id is longer than 4 characters", "Make it shorter."],
    ["tags: []", "tags is empty", "Write at least one item."],
    ["tags: [a, b, a]", "tags[2] says the same as tags[0] at line 1", "Keep one of them."],
  ])("%j is not", (text, message, hint) => {
    expect(read(text).problems).toEqual([[message, hint]]);
  });

  test("are in the JSON Schema", () => {
    expect(toJsonSchema(MORE, "More")).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "More",
      type: "object",
      properties: {
        id: { type: "string", minLength: 1, maxLength: 4, pattern: "^[a-z]+$" },
        silent: { type: "string", minLength: 1, pattern: "^[a-z]+$" },
        tags: {
          type: "array",
          items: { type: ["string", "number", "boolean"], minLength: 1 },
          uniqueItems: true,
          minItems: 1,
        },
        free: {},
      },
    });
  });
});
