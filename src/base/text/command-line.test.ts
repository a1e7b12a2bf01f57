import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shellWord, splitCommandLine } from "./command-line.ts";

describe("splitCommandLine", () => {
  test.each<[string, string[]]>([
    ["npx -y  some-server", ["npx", "-y", "some-server"]],
    ["a 'b c' \"d e\"", ["a", "b c", "d e"]],
    ["a'b'\"c\"d", ["abcd"]],
    ["a '' \"\"", ["a", "", ""]],
    ["a\\ b c\\'d", ["a b", "c'd"]],
    ['"a\\"b\\\\c\\n"', ['a"b\\c\\n']],
    ["'a\\b'", ["a\\b"]],
    ["x '| & ; < > $( `' \"|;\"", ["x", "| & ; < > $( `", "|;"]],
    ["x a\\|b ~ *.js", ["x", "a|b", "~", "*.js"]],
  ])("splits %j in the same way for a config file and for the command line", (text, words) => {
    expect(splitCommandLine(text)).toEqual(words);
    expect(splitCommandLine(text, { typed: true })).toEqual(words);
  });

  test.each(["a | b", "a && b", "a; b", "a > f", "a < f", "a $(b)", "a `b`", "a\nb"])(
    "rejects %j, which needs a shell",
    (text) => {
      const refusal = { problem: expect.stringContaining("shell") as string };
      expect(splitCommandLine(text)).toEqual(refusal);
      expect(splitCommandLine(text, { typed: true })).toEqual(refusal);
    },
  );

  test.each(["a 'b", 'a "b', "a\\"])("rejects %j, which has an unclosed quote or escape", (text) => {
    expect(splitCommandLine(text)).toHaveProperty("problem");
    expect(splitCommandLine(text, { typed: true })).toHaveProperty("problem");
  });

  test("rejects in a config file some texts that it accepts on the command line", () => {
    for (const text of ["a $HOME", "a (b)", 'a "$HOME"', 'a "`b`"', "a \\\n b", "a\n"]) {
      expect([text, splitCommandLine(text)]).toEqual([text, { problem: expect.any(String) as string }]);
      expect(splitCommandLine(text, { typed: true })).toContain("a");
    }
    expect(splitCommandLine("  ")).toEqual({ problem: "it is empty" });
    expect(splitCommandLine(" \t\n", { typed: true })).toEqual([]);
  });

  test("splits words that shellWord quoted into the same words", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (words) => {
        const line = words.map(shellWord).join(" ");
        expect(splitCommandLine(line, { typed: true })).toEqual(words);
      }),
    );
  });
});
