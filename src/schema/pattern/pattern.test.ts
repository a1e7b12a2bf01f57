// A pattern means the same to the linear engine as to JavaScript, and no engine is trusted with what it cannot do in time.

import fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { createMatcher, type Matcher } from "./pattern.ts";

function matcher(source: string): Matcher {
  const made = createMatcher(source, RE2JS);
  if (made === undefined) expect.fail(`no engine takes ${source}`);
  return made;
}

const atom = fc.constantFrom(
  ..."a b _ - \\s \\S \\d \\D \\w \\W . \\. \\/ \\x41 \\u0041 \\u{1F600} \\ud83d\\ude00 😀 \\0 \\cA \\v \\t \\p{L} \\P{Lu} é [^] []".split(
    " ",
  ),
  ..."[\\s\\d] [^\\s] [\\S] [^\\S] [\\b] [[:alpha:] [a-z-] [\\-\\]] [^a\\]] [\\u{1F600}-\\u{1F64F}] [.$^*] (?<n>a) (?:a|b)".split(
    " ",
  ),
);
const piece = fc
  .tuple(atom, fc.constantFrom("", "", "*", "+?", "?", "{1,2}"))
  .map(([text, times]) => text + times);
const pattern = fc.tuple(
  fc.constantFrom("", "^"),
  fc.array(piece, { minLength: 1, maxLength: 4 }),
  fc.constantFrom("", "$", "\\b"),
);
const letter = fc.constantFrom(
  ..."ab5_-AZ.]/[:😀é \t\v\n\r\0",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\u180e",
  "\u0001",
  "\b",
);

test("both engines agree on every pattern that both accept", () => {
  fc.assert(
    fc.property(pattern, fc.array(letter, { maxLength: 6 }), ([start, pieces, end], letters) => {
      // One name may stand only once in a pattern.
      const source = `${start}${pieces.join("").replaceAll("(?<n>", (_, at: number) => `(?<n${at}>`)}${end}`;
      const text = letters.join("");
      const native = new RegExp(source, "u").test(text);
      expect(matcher(source).test(text), `${source} on ${JSON.stringify(text)}`).toBe(native);
    }),
    { numRuns: 3000 },
  );
});

test("a pattern uses the linear engine if possible, and is marked as wild otherwise", () => {
  expect(matcher("^(a+)+$").wild).toBe(false);
  expect(matcher("^(?=a)a$").wild).toBe(true);
  expect(matcher("^(a)\\1$").wild).toBe(true);
  expect(matcher("\\p{Script=Greek}").wild).toBe(true);
  expect(matcher("^(x{1,50}){1,20}$").wild).toBe(true);
  expect(matcher("^(?=a)a$").test("a")).toBe(true);
});

test("a pattern with exponential backtracking runs in linear time, also after a reset", () => {
  const bomb = matcher("^(a+)+$");
  expect(bomb.test(`${"a".repeat(5000)}!`)).toBe(false);
  bomb.reset();
  expect(bomb.test("a".repeat(5000))).toBe(true);
});

test("patterns in the syntax of other languages keep their meaning, or are refused", () => {
  expect(matcher("(?i)^abc\\z").test("ABC")).toBe(true);
  expect(matcher("^a\\-b$").test("a-b")).toBe(true);
  expect(createMatcher("^a\\Z", RE2JS)).toBeUndefined();
  expect(createMatcher("(", RE2JS)).toBeUndefined();
});
