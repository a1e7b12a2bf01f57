// JSONPath-lite: valid and invalid paths, the values they select, and the difference between no value and null.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluateJsonPath, parseJsonPath } from "./json-path.ts";

function follow(text: string, value: unknown): unknown {
  const parsed = parseJsonPath(text);
  if (!parsed.ok) throw new Error(parsed.message);
  const followed = evaluateJsonPath(parsed.path, value);
  return followed.found ? { value: followed.value } : "nothing";
}

const VALUE = {
  contents: "text",
  none: null,
  "a-b": 1,
  items: [
    { id: 1, kind: "a", in: { is: "x" }, tags: ["p", "q"] },
    { id: 2, kind: "b", tags: [] },
    { kind: "a", tags: ["r"] },
  ],
  quoted: [{ name: "it's", deep: "\\" }],
};

describe("evaluateJsonPath", () => {
  test.each<[string, unknown]>([
    ["$", VALUE],
    ["$.contents", "text"],
    ["$.none", null],
    ["$.a-b", 1],
    ["$.items[1].id", 2],
    ["$.items[*].id", [1, 2]],
    ["$.items[*].missing", []],
    ["$.items[*].tags[*]", ["p", "q", "r"]],
    ["$.items[*].tags[0]", ["p", "r"]],
    ["$.items[1].tags[*]", []],
    ["$.items[?(@.kind=='a')].tags", [["p", "q"], ["r"]]],
    ["$.items[?( @.in.is == 'x' )].id", [1]],
    ["$.items[?(@.kind=='none')]", []],
    ["$.quoted[?(@.name=='it\\'s')].deep", ["\\"]],
    ["$.quoted[?(@.deep=='\\\\')].name", ["it's"]],
  ])("%s selects the expected value", (path, value) => {
    expect(follow(path, VALUE)).toEqual({ value });
  });

  test.each([
    "$.missing",
    "$.items[3]",
    "$.contents[0]",
    "$.contents.length",
    "$.items.length",
    "$.none.a",
    "$.contents[*]",
    "$.a[?(@.b=='c')]",
    "$.constructor",
    "$.__proto__",
  ])("%s selects no value", (path) => {
    expect(follow(path, VALUE)).toBe("nothing");
  });
});

test.each<[string, number, string]>([
  ["", 0, "does not begin with $"],
  ["contents", 0, "does not begin with $"],
  ["$.", 1, "ends with a dot"],
  ["$..a", 1, "all levels"],
  ["$.a.*", 3, "all values"],
  ["$.a[-1]", 3, "negative index"],
  ["$.a[1:2]", 3, "a slice"],
  ["$['a']", 1, "name in brackets"],
  ["$.a[01]", 3, "is not a step"],
  ["$.a[?(@.b==1)]", 3, "filter"],
  ["$.a[?(@.b>'1')]", 3, "filter"],
  ["$.a[?(@.b=='\u0007')]", 3, "filter"],
  ["$ .a", 1, "is not a step"],
  ["$.1a", 1, "is not a step"],
  [`$${".a".repeat(33)}`, 67, "more than 32 steps"],
  [`$.${"a".repeat(1_000)}`, 0, "longer"],
])("parseJsonPath rejects %j at offset %d: %s", (text, offset, message) => {
  const parsed = parseJsonPath(text);
  expect(parsed).toMatchObject({ ok: false, offset, message: expect.stringContaining(message) });
});

test('parseJsonPath suggests the missing "$." at the beginning', () => {
  expect(parseJsonPath("contents")).toMatchObject({ hint: "Write $.contents." });
});

test("parsing any text and evaluating any path never throws", () => {
  const step = fc.constantFrom(".a", ".b", "[0]", "[1]", "[*]", "[?(@.a=='x')]", "[?(@.a.b=='')]");
  const paths = fc.oneof(
    fc.array(step, { maxLength: 8 }).map((steps) => `$${steps.join("")}`),
    fc.string().map((text) => `$${text}`),
    fc.string(),
  );
  fc.assert(
    fc.property(paths, fc.jsonValue(), (text, value) => {
      const parsed = parseJsonPath(text);
      if (parsed.ok) evaluateJsonPath(parsed.path, value);
      else expect(parsed.offset).toBeLessThanOrEqual(text.length);
    }),
  );
});
