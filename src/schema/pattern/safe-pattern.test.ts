// isSafePattern() decides which patterns JavaScript's own engine may run: none that can backtrack exponentially.

import fc from "fast-check";
import { expect, test } from "vitest";
import { withinBudget } from "../budget.ts";
import { isSafePattern } from "./safe-pattern.ts";

test.each(
  "^[a-z]+$ ^\\d{4}-\\d{2}-\\d{2}$ ^(asc|desc)$ ^(read|rewrite)$ ^https?:// ^[A-Z][A-Za-z0-9_]*$ ^v?\\d+\\.\\d+\\.\\d+$ ^[a-z]+(-[a-z]+)*$ ^[^@]+@[^@]+$ foo ^.{1,200}$ ^$ ^[0-9a-f]{8}-[0-9a-f]{4}$".split(
    " ",
  ),
)("%s is safe", (source) => {
  expect(isSafePattern(source)).toBe(true);
});

test.each(
  [
    "^(a+)+$ ^(a|a)*$ ^(a|aa)+$ ^(a*)*$ ^(a?b?)*$ ^a*a*$ ^.*.*.*x$ ^(\\w|\\d)+$ ^([a-z]+)*$ ^(a?){30}a{30}$ ^(\\s*)+$ ^(a+a?)+$",
    "(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a) [a-z]+@ (?=a)b (a)\\1 (?<n>a)\\k<n> \\p{L} \\u{61} é ( a{2,1} \\01 a{5000} ^(a{100}){100}$",
  ].flatMap((line) => line.split(" ")),
)("%s is not safe", (source) => {
  expect(isSafePattern(source)).toBe(false);
});

test("(a?)?(b?)?... is not safe: each part may be empty in two ways", () => {
  expect(isSafePattern(`^${[..."abcdefghijklmnop"].map((letter) => `(${letter}?)?`).join("")}$`)).toBe(false);
});

test("every pattern that isSafePattern() accepts runs fast", () => {
  const piece = fc.constantFrom(
    ..."a b ab [ab] \\w . a? b+ a* (a|b) (ab|a)* (a+)+ (a+b)* (b|ab?)* (?:a{1,3}b)+ ^ $ - \\d".split(" "),
  );
  const source = fc.tuple(
    fc.constantFrom("^", ""),
    fc.array(piece, { minLength: 1, maxLength: 8 }),
    fc.constantFrom("$", ""),
  );
  const text = fc.constantFrom(
    "a".repeat(3000),
    "ab".repeat(1500),
    `${"a".repeat(3000)}!`,
    `${"ab".repeat(1500)}!`,
    "b-".repeat(1500),
  );
  fc.assert(
    fc.property(source, text, ([start, pieces, end], given) => {
      const pattern = `${start}${pieces.join("")}${end}`;
      fc.pre(isSafePattern(pattern));
      const native = new RegExp(pattern);
      expect(withinBudget(2000, () => native.test(given)).ok, pattern).toBe(true);
    }),
    { numRuns: 500 },
  );
});
