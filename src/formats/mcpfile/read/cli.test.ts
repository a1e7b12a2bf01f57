// Errors of one command are reported together.

import { expect, test } from "vitest";
import { parseMcpfile } from "./parse.ts";

function messages(cli: string): string[] {
  const text = `mcpFileVersion: 0.1.0
name: s
version: 1.0.0
tools:
- name: t
  description: d
  inputSchema: {type: object, properties: {name: {type: string}}}
  invocation: {cli: {${cli}, appendUnused: true}}`;
  return parseMcpfile(text, "m.yaml").diagnostics.map(({ message }) => message);
}

test("checks placeholder names also if the command cannot be split into words", () => {
  expect(
    messages(
      'command: "x {zz} | {name}", templateVariables: {name: {property: nope, format: "{name}", omitIfFalse: 3}}',
    ),
  ).toEqual([
    '"{zz}" is not a property of the inputSchema',
    "an unquoted | needs a shell",
    '"nope" is not a property of the inputSchema',
    expect.stringContaining("omitIfFalse must be true or false"),
  ]);
});

test("checks placeholder names also if a placeholder is in an invalid position", () => {
  expect(messages("command: 'x \\{name} {zz}', shell: true")).toEqual([
    "a placeholder cannot follow directly after a backslash",
    '"{zz}" is not a property of the inputSchema',
  ]);
});
