import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut, displayWidth, wrap } from "./layout.ts";

test.each([
  ["plain", 5],
  ["\u001b[36mplain\u001b[39m", 5],
  ["漢字", 4],
  ["é", 1],
  ["e\u0301", 1],
  ["🧭", 2],
  ["✓ ·…", 4],
  ["", 0],
])("%j takes %i columns", (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test.each([
  ["short", 5, "short"],
  ["longer", 5, "long…"],
  ["a word", 3, "a…"],
  ["漢字漢字", 6, "漢字…"],
])("cut() shortens %j to %i columns: %j", (text, width, expected) => {
  expect(cut(text, width)).toBe(expected);
});

describe("wrap", () => {
  test.each([
    ["one two three", undefined, "one two three"],
    ["one two three", 8, "one two\nthree"],
    ["  one two three", 8, "  one\n  two\n  three"],
    ["- one two three", 9, "- one two\n  three"],
    ["12. one two", 9, "12. one\n    two"],
    ["https://example.com/very/long next", 10, "https://example.com/very/long\nnext"],
    ["short\n\none two three", 8, "short\n\none two\nthree"],
  ])("wraps %j at %s columns", (text, width, expected) => {
    expect(wrap(text, width)).toBe(expected);
  });

  test("can indent the lines after the first", () => {
    expect(wrap("one two three", 8, 2)).toBe("one two\n  three");
  });

  test("keeps all words whole, and only a line with a single word may be too wide", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z漢🧭]{1,12}$/), { minLength: 1 }),
        fc.integer({ min: 4, max: 40 }),
        (words, width) => {
          const lines = wrap(words.join(" "), width).split("\n");
          expect(lines.flatMap((line) => line.split(" "))).toEqual(words);
          for (const line of lines)
            if (line.includes(" ")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});
