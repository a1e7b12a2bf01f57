import { describe, expect, test } from "vitest";
import { Diagnostics, readYaml } from "../document/index.ts";
import {
  anyValue,
  type AnySchema,
  duration,
  flag,
  integer,
  list,
  map,
  nodeOf,
  object,
  oneOf,
  oneOfNumbers,
  partialObject,
  size,
  text,
  toDocsTable,
  toJsonSchemaDocument,
  union,
  withoutRequired,
} from "./index.ts";

const PART = object("", { id: text().required().key("id", "key") });
const THING = partialObject("A thing.", {
  name: text("Name of the part.").required(),
  kind: oneOf("", ["small", "large"], { synonyms: { big: "large" } }).default("small"),
  size: integer("", { minimum: 1 }),
  isOn: flag().key("on"),
  waitMs: duration().key("wait"),
  words: list("", text("", { scalars: true })),
  table: map("", text()),
  prefix: union("", [flag(), text()]),
  parts: list("", PART),
});

function read(schema: AnySchema, yaml: string): { value: unknown; found: string[]; hints: unknown[] } {
  const { root, diagnostics: syntax } = readYaml(yaml, "f.yaml");
  if (root === undefined) throw new Error("not YAML");
  const diagnostics = new Diagnostics("f.yaml", syntax);
  const value: unknown = schema.read(root, { diagnostics, folder: "/project" });
  const found = diagnostics.sorted();
  return {
    value,
    found: found.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`),
    hints: found.map(({ hint }) => hint),
  };
}

test("a valid value has the property names of the code, with defaults, synonyms and aliases resolved", () => {
  const yaml = `
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
  expect(read(THING, yaml)).toEqual({
    value: {
      name: "x",
      kind: "large",
      size: 3,
      isOn: true,
      waitMs: 1_500,
      words: ["a", "1.10", "true"],
      table: { a: "b" },
      prefix: "hello",
      parts: [{ id: "one" }, { id: "two" }],
    },
    found: [],
    hints: [],
  });
  expect(read(THING, "name: x\nsize:\n").value).toEqual({ name: "x", kind: "small" });
});

test("reports all diagnostics at once with positions and hints, and keeps valid fields and items", () => {
  const yaml = [
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
    "  - id: right",
    "siez: 3",
    "zzzzzz: 1",
    "<<: {a: 1}",
  ].join("\n");
  const { value, found, hints } = read(THING, yaml);
  expect(value).toEqual({ parts: [{ id: "right" }] });
  expect(found).toEqual([
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
    "12:5 /parts/2/key key and id (line 11, column 5) are the same key",
    '13:5 /parts/3/nme unknown key "nme" in parts[3]',
    "13:5 /parts/3 id is missing in parts[3]",
    '15:1 /siez unknown key "siez"',
    '16:1 /zzzzzz unknown key "zzzzzz"',
    '17:1 /<< unknown key "<<"',
  ]);
  expect(hints).toEqual([
    "Write name: text. Name of the part.",
    'Did you mean "large"?',
    undefined,
    "Write true.",
    "Write a number of seconds, or a number with ms, s, m or h; at most 576h (24 days), and more than 0.",
    "Write a list: [one, two], or a line with - for each.",
    undefined,
    undefined,
    "Write id: text.",
    'Put it into quotes: "5".',
    "Keep one of them.",
    "The keys are id.",
    "Write id: text.",
    'Did you mean "size"?',
    "The keys are name, kind, size, on, wait, words, table, prefix, parts.",
    "Merge keys (<<) are not supported here. Write the keys themselves.",
  ]);
});

describe("single values", () => {
  test.each([
    ["name: ''", "1:7 /name name is empty"],
    ["name:", "1:1 /name name is empty"],
    ['name: "a\\0b"', "1:7 /name name contains a NUL character"],
    ["name: x\nkind: ''", "2:7 /kind kind is empty"],
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
  ])("%j is refused", (yaml, expected) => {
    expect(read(THING, yaml).found).toEqual([expected]);
  });

  test.each([
    ["30", 30_000],
    ["30s", 30_000],
    ["500ms", 500],
    ["2m", 120_000],
    ["'2 m'", 120_000],
    ["1h", 3_600_000],
    ["0.5", 500],
  ])("%s is read as a duration", (written, ms) => {
    expect(read(duration(), written).value).toBe(ms);
  });

  test("zero is a valid duration if the schema allows it", () => {
    expect(read(duration("", { zero: true }), "0").value).toBe(0);
  });

  test("reads sizes, numbers of a set, and any value", () => {
    expect(read(size(), "2KiB").value).toBe(2_048);
    expect(read(oneOfNumbers("", [1, 2]), "2").value).toBe(2);
    expect(read(list("", oneOfNumbers("", [1, 2])), "[3]").found).toEqual([
      '1:2 /0 [0] must be 1 or 2, not "3"',
    ]);
    expect(read(anyValue(), "{ a: [1, ~] }").value).toEqual({ a: [1, null] });
  });
});

describe("patterns, lengths, unique and non-empty lists, open objects", () => {
  const MORE = partialObject(
    "",
    {
      id: text("", { pattern: "^[a-z]+$", patternHint: "Use small letters.", maxLength: 4 }),
      silent: text("", { pattern: "^[a-z]+$" }),
      tags: list("", text("", { scalars: true }), { unique: true, minItems: 1 }),
      free: anyValue(),
    },
    { open: true },
  );

  test.each<[string, unknown]>([
    ["id: ab\nother: 1", { id: "ab" }],
    ["id: 'abcd'", { id: "abcd" }],
    ["silent: AB", { silent: "AB" }],
    ["tags: [a, 1]", { tags: ["a", "1"] }],
    ["free: { a: [1, ~] }", { free: { a: [1, null] } }],
  ])("%j is accepted", (yaml, value) => {
    expect(read(MORE, yaml)).toEqual({ value, found: [], hints: [] });
  });

  test.each<[string, string, string]>([
    ["id: AB", '1:5 /id id cannot be "AB"', "Use small letters."],
    ["id: abcde", "1:5 /id id is longer than 4 characters", "Make it shorter."],
    ["tags: []", "1:7 /tags tags is empty", "Write at least one item."],
    ["tags: [a, b, a]", "1:14 /tags/2 tags[2] repeats tags[0] at line 1", "Keep one of them."],
  ])("%j is refused", (yaml, message, hint) => {
    expect(read(MORE, yaml)).toMatchObject({ found: [message], hints: [hint] });
  });

  test("are part of the JSON Schema", () => {
    expect(toJsonSchemaDocument(MORE, "More")).toEqual({
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

describe("objects", () => {
  test("a check gets the valid fields of a draft, and reports errors by the keys of the file", () => {
    const RANGE = object(
      "",
      { fromMs: duration().key("from"), toMs: duration().key("to", "until") },
      {
        check({ fromMs, toMs }, at) {
          if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
            at.error("toMs", `${at.key("toMs")} is before ${at.key("fromMs")}`);
          if (at.entry("toMs") === undefined) at.warn("toMs", "it has no end");
        },
      },
    );
    expect(read(RANGE, "from: 1s\nuntil: 2s")).toMatchObject({ value: { fromMs: 1_000, toMs: 2_000 } });
    expect(read(RANGE, "from: 3s\nuntil: 2s")).toMatchObject({
      value: undefined,
      found: ["2:8 /until until is before from"],
    });
    expect(read(RANGE, "from: soon\nto:").found).toEqual([
      expect.stringContaining("1:7 /from"),
      "2:4 /to it has no end",
    ]);
  });

  test("a transform is not called for a value that contains an error", () => {
    const called: unknown[] = [];
    const schema = list("", integer()).transform((value) => {
      called.push(value);
      return value.length;
    });
    expect(read(schema, "[1, 2]").value).toBe(2);
    expect(read(schema, "[1, x]").value).toBeUndefined();
    expect(called).toEqual([[1, 2]]);
  });

  test("keys can be those of the code, and nodeOf finds the node of a value", () => {
    const schema = object("", { maxBytes: integer().required() }, { keys: "camelCase" });
    const { value } = read(schema, "maxBytes: 1");
    expect(value).toEqual({ maxBytes: 1 });
    expect(nodeOf(value as object)?.entries[0]?.column).toBe(1);
    expect(read(partialObject("", withoutRequired({ a: text().required() })), "{}").found).toEqual([]);
  });
});

test("generates the JSON Schema of a schema", () => {
  expect(toJsonSchemaDocument(THING, "Thing")).toEqual({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Thing",
    description: "A thing.",
    type: "object",
    required: ["name"],
    properties: {
      name: { description: "Name of the part.", type: "string", minLength: 1 },
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
            key: { type: "string", minLength: 1, description: "Alias of id." },
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

test("the table for the docs has a row for each key", () => {
  const schema = object("", {
    name: text("What it is called.").required(),
    mode: oneOf("How.", ["a", "b"]).default("a"),
    limits: object("How much.", { maxBytes: size("Bytes.").key("size", "bytes") }),
  });
  expect(toDocsTable(schema).split("\n").slice(2)).toEqual([
    "| `name` | text | What it is called. Required. |",
    '| `mode` | "a" or "b" | How. Default: `"a"`. |',
    "| `limits` | an object with keys | How much. |",
    '| `limits.size` | a size such as 4096, "512MB" or "1GiB" | Bytes. Also written `bytes`. |',
  ]);
});
