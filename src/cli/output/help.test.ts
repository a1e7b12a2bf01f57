import { expect, test } from "vitest";
import { exitCodes, fitHelp } from "./help.ts";

test("fitHelp wraps the second column of a table below itself, and does not wrap examples", () => {
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

test("exitCodes sorts the codes, and adds the codes of bugs and Ctrl-C", () => {
  expect(exitCodes({ 2: "usage", 0: "done", 143: "terminated" })).toBe(`Exit codes:
  0    done
  2    usage
  70   a bug in Portolan
  130  interrupted (Ctrl-C)
  143  terminated`);
});
