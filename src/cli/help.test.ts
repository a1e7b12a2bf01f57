import { expect, test } from "vitest";
import { CALL_HELP, fitHelp, LIST_HELP, PROMPT_HELP, READ_HELP, ROOT_HELP } from "./help.ts";

test("a table's second column stays under itself, and examples stay whole", () => {
  const text = `Table:
  term     one two three four

Examples:
  a command that must stay in one line`;
  expect(fitHelp(text, 22)).toBe(`Table:
  term     one two
           three four

Examples:
  a command that must stay in one line`);
});

test.each([ROOT_HELP, LIST_HELP, CALL_HELP, READ_HELP, PROMPT_HELP])("help %# fits 60 columns", (text) => {
  const wide = fitHelp(text, 60)
    .split("\n")
    .filter((line) => line.length > 60);
  expect(wide.filter((line) => !/^ {2}(?:portolan|echo) /.test(line))).toEqual([]);
  expect(fitHelp(text, 60).replace(/\s+/g, " ")).toBe(text.replace(/\s+/g, " "));
});
