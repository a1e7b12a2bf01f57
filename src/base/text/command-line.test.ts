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
  ])("%j is the same in a config file and on the command line", (text, words) => {
    expect(splitCommandLine(text)).toEqual(words);
    expect(splitCommandLine(text, { typed: true })).toEqual(words);
  });

  test.each(["a | b", "a && b", "a; b", "a > f", "a < f", "a $(b)", "a `b`", "a\nb"])(
    "%j needs a shell",
    (text) => {
      const refusal = { problem: expect.stringContaining("shell") as string };
      expect(splitCommandLine(text)).toEqual(refusal);
      expect(splitCommandLine(text, { typed: true })).toEqual(refusal);
    },
  );

  test.each(["a 'b", 'a "b', "a\\"])("%j is unfinished", (text) => {
    expect(splitCommandLine(text)).toHaveProperty("problem");
    expect(splitCommandLine(text, { typed: true })).toHaveProperty("problem");
  });

  test("a config file is stricter than a person", () => {
    for (const text of ["a $HOME", "a (b)", 'a "$HOME"', 'a "`b`"', "a \\\n b", "a\n"]) {
      expect([text, splitCommandLine(text)]).toEqual([text, { problem: expect.any(String) as string }]);
      expect(splitCommandLine(text, { typed: true })).toContain("a");
    }
    expect(splitCommandLine("  ")).toEqual({ problem: "it is empty" });
    expect(splitCommandLine(" \t\n", { typed: true })).toEqual([]);
  });

  test("a quoted word comes back as it was", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (words) => {
        const line = words.map(shellWord).join(" ");
        expect(splitCommandLine(line, { typed: true })).toEqual(words);
      }),
    );
  });
});
