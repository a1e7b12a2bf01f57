import fc from "fast-check";
import { expect, test } from "vitest";
import { didYouMean, suggest } from "./suggest.ts";

const names = ["echo", "get_sum", "create_comment", "list-issues", "longRunning"];

test.each([
  ["ehco", ["echo"]],
  ["getSum", ["get_sum"]],
  ["create-comment", ["create_comment"]],
  ["comment", ["create_comment"]],
  ["listIssue", ["list-issues"]],
  ["men", []],
  ["zzz", []],
  ["", []],
])('suggest returns for the typed name "%s": %j', (typed, expected) => {
  expect(suggest(typed, names)).toEqual(expected);
});

test("didYouMean writes the similar names as a question", () => {
  expect(didYouMean("ehco", names)).toBe('Did you mean "echo"?');
  expect(didYouMean("itm", ["item", "atm"])).toBe('Did you mean "atm" or "item"?');
  expect(didYouMean("nothing", names)).toBeUndefined();
});

test("suggest never returns the typed name itself, and finds a name that differs by one letter", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{4,12}$/), fc.nat(11), (name, at) => {
      expect(suggest(name, ["zzzz", name])).not.toContain(name);
      const typo = name.slice(0, at) + "q" + name.slice(at);
      expect(suggest(typo, [name])).toEqual([name]);
    }),
  );
});

test("suggest stays fast for many long names", () => {
  const many = Array.from({ length: 20_000 }, (_, index) => `${"tool".repeat(20)}${index}`);
  const started = performance.now();
  suggest("toool".repeat(15), many);
  expect(performance.now() - started).toBeLessThan(15_000);
});
