import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { MAX_ALIASES, MAX_BYTES } from "./bounds.ts";
import { nodeAt, toLabel, toPlain, toPointer } from "./node.ts";
import { readText } from "./read.ts";
import { readJson } from "./read-json.ts";
import { readYaml } from "./read-yaml.ts";

const short = ({ line, column, message }: Diagnostic): string => `${line}:${column} ${message}`;

describe("YAML", () => {
  const text = [
    "# comment",
    "name: a bridge",
    "config:",
    "  servers:",
    "    - alias: x",
    "      args: [-y, 1.10, 0x1F, yes, true, null]",
    "    - alias: y",
    "  empty:",
  ].join("\n");

  test("gives each value its line and column", () => {
    const { root, diagnostics } = readYaml(text, "f.yaml");
    expect(diagnostics).toEqual([]);
    expect(root).toMatchObject({ kind: "object", line: 2, column: 1, path: [] });
    expect(nodeAt(root, "config", "servers")).toMatchObject({ kind: "list", line: 5, column: 5 });
    expect(nodeAt(root, "config", "servers", 0)).toMatchObject({ kind: "object", line: 5, column: 7 });
    expect(nodeAt(root, "config", "servers", 1, "alias")).toMatchObject({ value: "y", line: 7, column: 14 });
    expect(nodeAt(root, "config", "servers", 0, "args", 1)).toMatchObject({ line: 6, column: 18 });
    expect(nodeAt(root, "config", "empty")).toMatchObject({ kind: "null", line: 8 });
    expect(nodeAt(root, "config", "nothing", 3)).toBeUndefined();
  });

  test("keeps the source text of numbers, and reads yes as a string", () => {
    const args = nodeAt(readYaml(text, "f.yaml").root, "config", "servers", 0, "args");
    expect(args?.kind === "list" && args.items.map((item) => "source" in item && item.source)).toEqual([
      "-y",
      "1.10",
      "0x1F",
      "yes",
      "true",
      "null",
    ]);
    expect(args && toPlain(args)).toEqual(["-y", 1.1, 31, "yes", true, null]);
  });

  test("accepts CRLF, a byte order mark and an empty file", () => {
    expect(nodeAt(readYaml("\uFEFFa: 1\r\nb:\r\n  c: 2\r\n", "f").root, "b", "c")).toMatchObject({
      line: 3,
      column: 6,
      value: 2,
    });
    expect(readYaml("\uFEFFa: 1", "f").root).toMatchObject({ line: 1, column: 1 });
    expect(readYaml("", "f")).toMatchObject({ root: { kind: "null", line: 1, column: 1 }, diagnostics: [] });
    expect(readYaml("# only a comment\n", "f").root).toMatchObject({ kind: "null" });
  });

  test("an alias has its own position, and its content has the positions of the anchor", () => {
    const { root } = readYaml("a: &x\n  k: 1\nb: *x\n", "f");
    expect(nodeAt(root, "b")).toMatchObject({ kind: "object", line: 3, column: 4, path: ["b"] });
    expect(nodeAt(root, "b", "k")).toMatchObject({ value: 1, line: 2, column: 6, path: ["b", "k"] });
  });

  test.each([
    ["a key twice", "a: 1\nb: 2\na: 3\n", '3:1 the key "a" is declared twice: first at line 1, column 1'],
    ["__proto__", "x:\n  __proto__: {y: 1}\n", '2:3 the key "__proto__" is not allowed'],
    ["constructor", "constructor: 1\n", '1:1 the key "constructor" is not allowed'],
    ["prototype", '{"prototype": 1}', '1:2 the key "prototype" is not allowed'],
    ["a key that is a list", "[a, b]: 1\n", "1:1 a key must be a word, not a list or an object"],
    ["an unknown tag", "a: !!js/function x\n", "1:4 unresolved tag: tag:yaml.org,2002:js/function"],
    ["a local tag", "a: !env HOME\n", "1:4 unresolved tag: !env"],
    ["binary", "a: !!binary aGk=\n", "1:4 unresolved tag: tag:yaml.org,2002:binary"],
    ["no anchor", "a: *x\n", "1:4 there is no anchor &x before this alias"],
    [
      "two documents",
      "a: 1\n---\nb: 2\n",
      "1:1 the file contains several YAML documents; a config file must contain exactly one",
    ],
    [
      "a colon too many",
      "a: b: c\n",
      "1:4 not valid YAML: nested mappings are not allowed in compact mappings",
    ],
    ["a tab", "a:\n\tb: 1\n", "2:1 not valid YAML: tabs are not allowed as indentation"],
    [
      "an open bracket",
      "a: [1\n",
      "2:1 not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    [
      "a line that is indented more",
      "one:\n  command: node\n\n   args: [a]\n",
      "4:4 not valid YAML: line 4 is indented more than line 2, so that it continues the value of line 2",
    ],
    [
      "a key without a colon",
      "one:\n  files\n    command: node\n",
      "2:8 not valid YAML: a colon is missing after files: line 3 is indented like the value of a key",
    ],
    [
      "a line that is indented less",
      "one:\n    command: node\n   args: [a]\n",
      "3:4 not valid YAML: all mapping items must start at the same column",
    ],
    [
      "a list entry that is indented less",
      "one:\n    args:\n    - a\n   - b\n",
      "4:4 not valid YAML: this list entry has a wrong indentation",
    ],
  ])("reports %s with its position", (_, text, expected) => {
    const { diagnostics } = readYaml(text, "f.yaml");
    expect(diagnostics.map(short)).toContain(expected);
    expect(diagnostics[0]).toMatchObject({ code: "FILE_INVALID", severity: "error", file: "f.yaml" });
  });

  test("reports one error for a block that a missing colon makes invalid, and the errors after it", () => {
    const text = "one:\n  files\n    command: node\n    args: [a]\n    env:\n      A: b\ntwo: a: b\n";
    expect(readYaml(text, "f").diagnostics.map(({ line }) => line)).toEqual([2, 7]);
  });

  test.each([
    ["a: b: c\n", "Put a value that contains a colon and a space into quotes."],
    ["a: b\n c: d\n", "Keys of one object, and entries of one list, start in the same column."],
    ["a:\n  - b\n c: d\n", "Keys of one object, and entries of one list, start in the same column."],
    ["a:\n  b: [1,\nc: 2\n", "Close the list that begins with [ before this line, with ]."],
    ["a:\n  b: {c: 1\nd: 2\n", "Close the object that begins with { before this line, with }."],
  ])("gives the matching hint about %j", (text, hint) => {
    expect(readYaml(text, "f").diagnostics[0]?.hint).toBe(hint);
  });

  test("keeps the values after an invalid key, without the invalid one", () => {
    const { root } = readYaml("a: 1\n__proto__: 2\na: 3\nb: 4\n", "f");
    expect(root && toPlain(root)).toEqual({ a: 1, b: 4 });
  });

  test("does not apply merge keys", () => {
    const { root } = readYaml("a: &x {k: 1}\nb:\n  <<: *x\n", "f");
    expect(nodeAt(root, "b") && toPlain(nodeAt(root, "b") as never)).toEqual({ "<<": { k: 1 } });
  });
});

describe("JSON", () => {
  test("accepts comments and trailing commas, and knows positions", () => {
    const { root, diagnostics } = readJson(
      '{\n  // why\n  "a": [1, 2.50,],\n  "b": {"c": null,},\n}\n',
      "f.json",
    );
    expect(diagnostics).toEqual([]);
    expect(root && toPlain(root)).toEqual({ a: [1, 2.5], b: { c: null } });
    expect(nodeAt(root, "a", 1)).toMatchObject({ line: 3, column: 12, source: "2.50" });
    expect(nodeAt(root, "b", "c")).toMatchObject({ kind: "null", line: 4, column: 14 });
  });

  test.each([
    ["", "1:1 not valid JSON: a value is expected here"],
    ['{"a" 1}', "1:6 not valid JSON: a colon is expected here"],
    ["{\n  a: 1\n}", "2:3 not valid JSON: this is not a JSON value; text needs double quotes"],
    // One syntax error gives one diagnostic, also if the parser misreads the rest.
    ['{"a": [1,}', "1:10 not valid JSON: a value is expected here"],
    ['{"a": 1', "1:8 not valid JSON: a closing } is expected here"],
    ["{} {}", "1:4 not valid JSON: nothing more is expected here"],
    ['{"a": 1, "a": 2}', '1:10 the key "a" is declared twice: first at line 1, column 2'],
    ['{"__proto__": {"x": 1}}', '1:2 the key "__proto__" is not allowed'],
  ])("reports %j with its position", (text, expected) => {
    expect(readJson(text, "f.json").diagnostics.map(short)).toContain(expected);
  });

  test("the file name extension selects the reader", () => {
    expect(readText("a: 1", "x.json").root).toBeUndefined();
    expect(readText("a: 1", "x.yaml").root).toBeDefined();
    expect(readText('{"a": 1,}', "x.jsonc").root).toBeDefined();
  });
});

describe("hostile input", () => {
  const million = 1024 * 1024;
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefghi".split("").map((name, index) => {
      const above = "abcdefgh"[index] ?? "a";
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${above}`).join(", ")}]`;
    }),
  ].join("\n");

  test.each<[string, string, string]>([
    ["an alias bomb", bomb, `is used more than ${MAX_ALIASES} times`],
    ["an alias of itself", "a: &a [*a]", "is used more than"],
    ["open brackets", "[".repeat(million), "nested more than 64 deep"],
    // This text ended the whole process through a regular expression inside of a deep recursion.
    ["open braces", "{".repeat(million), "nested more than 64 deep"],
    ["nested lists", "- ".repeat(million / 2), "nested more than 64 deep"],
    [
      "nested keys",
      Array.from({ length: 500 }, (_, index) => `${" ".repeat(index)}a:`).join("\n"),
      "nested more than 64 deep",
    ],
    ["many values", `[${"1,".repeat(million / 2 - 1)}]`, "too many values for a config file"],
    ["many keys", Array.from({ length: 90_000 }, (_, index) => `k${index}: 1`).join("\n"), "too many values"],
    ["many documents", "---\n".repeat(million / 4), "several YAML documents"],
    ["many commas", `[${",".repeat(million - 1)}`, "too many values"],
    ["a huge file", "a".repeat(MAX_BYTES + 1), "bytes; a config file can have at most"],
  ])("YAML with %s is refused within seconds", (_, text, expected) => {
    const started = performance.now();
    const { root, diagnostics } = readYaml(text, "f.yaml");
    expect(root).toBeUndefined();
    expect(diagnostics.map(({ message }) => message).join()).toContain(expected);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test.each<[string, string, string]>([
    ["open brackets", "[".repeat(million), "nested more than 64 deep"],
    ["objects", '{"a":'.repeat(million / 5), "nested more than 64 deep"],
    ["many values", `[${"1,".repeat(million / 2 - 2)}1]`, "too many values"],
    ["words", "x ".repeat(million / 4), "text needs double quotes"],
    ["a huge file", `"${"a".repeat(MAX_BYTES)}"`, "bytes"],
  ])("JSON with %s is refused within seconds", (_, text, expected) => {
    const started = performance.now();
    const { root, diagnostics } = readJson(text, "f.json");
    expect(root).toBeUndefined();
    expect(diagnostics[0]?.message).toContain(expected);
    expect(diagnostics.length).toBeLessThan(20);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test("finds a duplicate key in a large file in linear time", () => {
    const text = Array.from({ length: 15_000 }, (_, index) => `k${index % 14_999}: 1`).join("\n");
    const started = performance.now();
    expect(readYaml(text, "f").diagnostics.map(short)).toEqual([
      '15000:1 the key "k0" is declared twice: first at line 1, column 1',
    ]);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test("reports at most a hundred problems, and the number of the others", () => {
    const text = Array.from({ length: 150 }, () => "a: 1").join("\n");
    const { diagnostics } = readYaml(text, "f");
    expect(diagnostics).toHaveLength(101);
    expect(diagnostics.at(-1)?.message).toBe("49 more problems in this file");
  });

  test("a reader never throws", () => {
    const piece = fc.constantFrom(
      ..."abc01: -?[]{}#&*!|>'\"%@`,\\/.~<\t\r\n$".split(""),
      "\n  ",
      ": ",
      "- ",
      "<<: *a",
      "&a ",
      "!!js ",
      "---\n",
      "\0",
      "\uD800",
      "é",
      "//",
      "/*",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, json) => {
        const result = readText(pieces.join(""), json ? "f.json" : "f.yaml");
        expect(result.root !== undefined || result.diagnostics.length > 0).toBe(true);
        for (const { line, column } of result.diagnostics)
          expect((line ?? 0) > 0 && (column ?? 0) > 0).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("formats paths as JSON pointers and as labels", () => {
  expect(toPointer(["a/b", 0, "c~d"])).toBe("/a~1b/0/c~0d");
  expect(toLabel(["config", "servers", 2, "url"])).toBe("config.servers[2].url");
  expect(toLabel([])).toBe("");
});
