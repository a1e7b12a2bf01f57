import { expect, test } from "vitest";
import { parseMcpfile } from "./parse.ts";

test("an error inside a property's schema does not hide errors of the command", () => {
  const errors = (properties: string, command: string): string[] => {
    const text = `mcpFileVersion: 0.0.1
servers:
- name: s
  version: 1.0.0
  tools:
  - name: t
    description: d
    inputSchema: {type: object, properties: {${properties}}}
    invocation: {cli: {command: ${JSON.stringify(command)}}}`;
    return parseMcpfile(text, "m.yaml").diagnostics.map(
      ({ line, column, message }) => `${line}:${column} ${message}`,
    );
  };
  const wrongType = '8:56 servers[0].tools[0].inputSchema.properties.n.type is not a type: "wat"';
  expect(errors("n: {type: wat}, o: {type: string}", "echo {m} {n.inner}")).toEqual([
    wrongType,
    '9:39 "{m}" is not a property of the inputSchema',
  ]);
  expect(errors("n: {type: wat}, o: {type: string}", "echo {n.inner}")).toEqual([
    wrongType,
    '8:62 the command never uses the argument "o"',
  ]);
});
