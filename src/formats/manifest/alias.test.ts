import { expect, test } from "vitest";
import { aliasProblem } from "./alias.ts";

test.each([
  ["-x", 'Start it with a letter, a digit or "_", for example "x".'],
  [
    "a".repeat(41),
    `Use at most 40 of the letters A to Z and a to z, digits, "_" and "-", for example "${"a".repeat(40)}".`,
  ],
  [
    "my server",
    'Use only the letters A to Z and a to z, digits, "_" and "-", and do not begin with "-", for example "my_server".',
  ],
  ["", 'Use only the letters A to Z and a to z, digits, "_" and "-", and do not begin with "-".'],
])("the hint for the alias %s names the rule that it breaks", (alias, hint) => {
  expect(aliasProblem(alias)?.hint).toBe(hint);
});
