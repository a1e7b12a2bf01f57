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
])("%s is near %j", (typed, expected) => {
  expect(suggest(typed, names)).toEqual(expected);
});

test("reads as a question", () => {
  expect(didYouMean("ehco", names)).toBe('Did you mean "echo"?');
  expect(didYouMean("itm", ["item", "atm"])).toBe('Did you mean "atm" or "item"?');
  expect(didYouMean("nothing", names)).toBeUndefined();
});

test("what was typed is never suggested, and one edit away is near", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{4,12}$/), fc.nat(11), (name, at) => {
      expect(suggest(name, ["zzzz", name])).not.toContain(name);
      const typo = name.slice(0, at) + "q" + name.slice(at);
      expect(suggest(typo, [name])).toEqual([name]);
    }),
  );
});

test("stays fast for many long names", () => {
  const many = Array.from({ length: 20_000 }, (_, index) => `${"tool".repeat(20)}${index}`);
  const started = performance.now();
  suggest("toool".repeat(15), many);
  expect(performance.now() - started).toBeLessThan(15_000);
});
