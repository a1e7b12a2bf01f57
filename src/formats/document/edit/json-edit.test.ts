import fc from "fast-check";
import { expect, test } from "vitest";
import { openDocument } from "./index.ts";
import { jsonStyleOf, toJsonText } from "./json-render.ts";

test.each([
  ["{}", ["a"], 1, '{\n  "a": 1\n}'],
  ['{ "a": 1 }', ["b"], 2, '{ "a": 1, "b": 2 }'],
  ['{"a":1}', ["b"], { c: [1] }, '{"a":1,"b":{"c":[1]}}'],
  ['{ "a": 1, }', ["b"], 2, '{ "a": 1, "b": 2, }'],
  ["{ /* none */ }", ["b"], 2, '{ /* none */ "b": 2 }'],
  ["{\n  // none\n}", ["b"], 2, '{\n  // none\n  "b": 2\n}'],
  ['{\n  "a": 1 // one\n}', ["b"], 2, '{\n  "a": 1, // one\n  "b": 2\n}'],
  ['{\n  "a": 1, // one\n}', ["b"], 2, '{\n  "a": 1, // one\n  "b": 2,\n}'],
  [
    '{\n\t"a": {\n\t\t"b": 1\n\t}\n}',
    ["a", "c"],
    { d: 1 },
    '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": {\n\t\t\t"d": 1\n\t\t}\n\t}\n}',
  ],
  ['{\n    "a": null\n}', ["a", "b"], 1, '{\n    "a": {\n        "b": 1\n    }\n}'],
  ['{\n  "a": [\n    1 // one\n  ]\n}', ["a", 1], 2, '{\n  "a": [\n    1, // one\n    2\n  ]\n}'],
  [
    '{\n  "a": { "b": 1 }, // keep\n  "c": 3\n}',
    ["a", "b"],
    [1, 2],
    '{\n  "a": { "b": [1, 2] }, // keep\n  "c": 3\n}',
  ],
  ['{"a":1,"a":2}', ["a"], 3, '{"a":1,"a":3}'],
])("sets a value in %j", (text, path, value, expected) => {
  expect(openDocument("json", text).set(path, value)?.render()).toBe(expected);
});

test.each([
  ['{\n  "a": 1,\n  "b": 2\n}', ["a"], '{\n  "b": 2\n}'],
  ['{\n  "a": 1, // one\n  "b": 2 // two\n}', ["b"], '{\n  "a": 1 // one\n  // two\n}'],
  ['{\n  "a": 1, // one\n  "b": 2\n}', ["b"], '{\n  "a": 1 // one\n}'],
  ['{\n  "a": 1,\n  "b": 2,\n}', ["b"], '{\n  "a": 1,\n}'],
  ['{ "a": 1, "b": 2 }', ["b"], '{ "a": 1 }'],
  ['{ "a": 1, "b": 2 }', ["a"], '{ "b": 2 }'],
  ['{"a":1}', ["a"], "{}"],
  ['{"a":1}', ["b"], '{"a":1}'],
  ['{"a":[1,2,3]}', ["a", 1], '{"a":[1,3]}'],
])("removes a value from %j", (text, path, expected) => {
  expect(openDocument("json", text).delete(path)?.render()).toBe(expected);
});

const key = fc.stringMatching(/^[a-z]{1,2}$/);
const tree = fc.dictionary(
  key,
  fc.oneof(
    fc.stringMatching(/^[a-z]{0,4}$/),
    fc.array(fc.nat(9), { maxLength: 3 }),
    fc.dictionary(key, fc.oneof(fc.nat(9), fc.dictionary(key, fc.nat(9), { maxKeys: 3 })), { maxKeys: 4 }),
  ),
  { maxKeys: 4 },
);

/** JSON with comments, odd blanks and trailing commas sprinkled over it. */
function untidy(text: string, seeds: readonly number[], eol: string): string {
  let count = 0;
  const next = (): number => seeds[count++ % seeds.length] ?? 0;
  const trivia = ["", "", " ", eol, `${eol}  `, ' /* a " , } */ ', ` // b ] { "c": 1${eol}`];
  return text.replace(/[{}[\],:]/g, (mark) => {
    const before = trivia[next() % trivia.length] ?? "";
    const after = trivia[next() % trivia.length] ?? "";
    return `${before}${mark}${after}`;
  });
}

test("sets and removes any value at any place, and changes nothing else", () => {
  const path = fc.array(key, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      tree,
      path,
      fc.option(fc.oneof(fc.nat(), fc.array(fc.string()), tree), { nil: undefined }),
      fc.array(fc.nat(99), { minLength: 1 }),
      fc.boolean(),
      (value, at, wanted, seeds, windows) => {
        const text = untidy(JSON.stringify(value), seeds, windows ? "\r\n" : "\n");
        // The document gives no result if anything else has changed.
        const edited = openDocument("json", text)
          .edit([{ path: at, value: wanted }])
          ?.render();
        expect(edited).toBeDefined();
        for (const comment of ['/* a " , } */', '// b ] { "c": 1'])
          if (wanted !== undefined && !isReplaced(value, at))
            expect(edited?.split(comment).length).toBe(text.split(comment).length);
      },
    ),
    { numRuns: 2_000 },
  );
});

/** Setting a value replaces the old value and the comments inside of it. */
function isReplaced(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return true;
  return step in value && isReplaced((value as Record<string, unknown>)[step], rest);
}

test("writes values in the style of the text", () => {
  const value = { a: ["x".repeat(50), "y".repeat(50)], b: {}, c: [] };
  expect(JSON.parse(toJsonText(value, jsonStyleOf("{}")))).toEqual(value);
  expect(toJsonText({ a: 1 }, jsonStyleOf('{"x":1}'))).toBe('{"a":1}');
  expect(toJsonText({ a: 1 }, jsonStyleOf('{ "x": 1 }'))).toBe('{ "a": 1 }');
  expect(toJsonText({ a: 1 }, jsonStyleOf('{\r\n\t"x": 1\r\n}'))).toBe('{\r\n\t"a": 1\r\n}');
});
