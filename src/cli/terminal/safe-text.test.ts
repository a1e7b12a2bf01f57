import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainLine, plainText, toJsonText } from "./safe-text.ts";

const code = (value: number): string => String.fromCodePoint(value);
const hostile = fc.constantFrom(
  "\u001b[31m",
  "\u001b[2J",
  "\u001b]52;c;aGk=\u0007",
  "\u001b]8;;http://x\u001b\\",
  "\u009b31m",
  "\u009d0;t\u009c",
  "\u001b",
  "\r",
  "\b",
  "\u0000",
  "\u007f",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u200d",
  "\ufeff",
  code(0xe0041),
  code(0xe0101),
  "\ufe00\ufe01",
  "\ud800",
  "[31m",
  "\u2028",
);
const text = fc
  .array(fc.oneof(hostile, fc.string({ unit: "binary" }), fc.string()))
  .map((parts) => parts.join(""));

/** Code points that must never reach a terminal, deliberately listed apart from the implementation. */
function isForbidden(point: number): boolean {
  return (
    (point < 0x20 && point !== 0x0a && point !== 0x09) ||
    (point >= 0x7f && point <= 0x9f) ||
    (point >= 0x202a && point <= 0x202e) ||
    (point >= 0x2066 && point <= 0x2069) ||
    (point >= 0x200b && point <= 0x200f) ||
    point === 0x2060 ||
    point === 0xfeff ||
    point === 0x061c ||
    point === 0x2028 ||
    point === 0x2029 ||
    (point >= 0xe0000 && point <= 0xe01ef) ||
    (point >= 0xd800 && point <= 0xdfff)
  );
}

describe("plainText", () => {
  test("removes every forbidden character, and does not change its own output", () => {
    fc.assert(
      fc.property(text, (input) => {
        const output = plainText(input);
        expect(Array.from(output).filter((character) => isForbidden(character.codePointAt(0) ?? 0))).toEqual(
          [],
        );
        expect(plainText(output)).toBe(output);
      }),
      { numRuns: 2_000 },
    );
  });

  test("keeps ordinary text unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (input) => {
        expect(plainText(input)).toBe(input);
      }),
    );
    for (const kept of ["Grüße, 世界\n\tтест", "مرحبا", "❤️ 👍🏽 🇨🇭", "a\tb\nc"])
      expect(plainText(kept)).toBe(kept);
  });

  test("removes colours, shows other escapes, and marks hidden characters", () => {
    expect(plainText("\u001b[1;31mred\u001b[0m")).toBe("red");
    expect(plainText("\u001b]52;c;aGk=\u0007")).toBe("␛]52;c;aGk=␇");
    expect(plainText("ab\u202e\u2066cd")).toBe("ab\ufffdcd");
    expect(plainText(`x${code(0xe0049)}${code(0xe0050)}y`)).toBe("x\ufffdy");
    expect(plainText("one\r\ntwo\rthree")).toBe("one\ntwo␍three");
    expect(plainText("👩\u200d💻")).toBe("👩💻");
  });

  test("an escape sequence that a removal would create is made harmless", () => {
    expect(plainText("\u001b\u001b[31m[2J")).toBe("␛[2J");
    expect(plainText("\u001b\u200b[2J")).toBe("␛\ufffd[2J");
  });

  test("stays fast on long hostile text", () => {
    const started = performance.now();
    plainText("\u001b[".repeat(500_000));
    plainText(`\u001b[${"1".repeat(1_000_000)}`);
    plainText("👩\u200d".repeat(200_000));
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

describe("plainLine", () => {
  test("returns one line, truncated with an ellipsis, never inside a character", () => {
    expect(plainLine("a\n  b\tc")).toBe("a b c");
    expect(plainLine("abcdef", 4)).toBe("abc…");
    expect(plainLine("💥💥💥", 2)).toBe("💥…");
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (input, max) => {
        const line = plainLine(input, max);
        expect(Array.from(line).length).toBeLessThanOrEqual(max);
        expect(line).not.toMatch(/[\n\t]/);
      }),
    );
  });
});

describe("toJsonText", () => {
  test("keeps the value, and escapes all control characters of terminals", () => {
    fc.assert(
      fc.property(fc.dictionary(text, text), (value) => {
        const json = toJsonText(value, 2);
        expect(JSON.parse(json)).toEqual(value);
        expect(Array.from(json).filter((character) => isForbidden(character.codePointAt(0) ?? 0))).toEqual(
          [],
        );
      }),
      { numRuns: 500 },
    );
  });

  test("escapes C1, bidirectional controls and tags", () => {
    expect(toJsonText("\u009b\u202e\u007f")).toBe('"\\u009b\\u202e\\u007f"');
    expect(toJsonText(code(0xe0041))).toBe('"\\udb40\\udc41"');
    expect(toJsonText(undefined)).toBe("null");
  });
});
