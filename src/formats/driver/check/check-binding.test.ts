// A driver against its contracts: what both say must agree before anything is called.

import { describe, expect, test } from "vitest";
import type { Contract, Driver } from "../../../model/index.ts";
import { checkBinding, keysOf, parseDriver, parseTool } from "../index.ts";

const INPUTS =
  "{ type: object, properties: { path: { type: string }, limit: { type: number }, q: {} }, required: [path] }";

function contract(more = "", inputs = INPUTS): Contract {
  const { contract: read, diagnostics } = parseTool(
    `---\nname: A\nid: aa\ndescription: d\nversion: 1.2.0\ninputs: ${inputs}\noutputs: { type: object, properties: { a: {}, b: {} }, required: [a] }\n${more}\n---\n`,
    "TOOL.md",
  );
  if (read === undefined) throw new Error(JSON.stringify(diagnostics));
  return read;
}

function driver(entry: string, more = ""): Driver {
  const { driver: read, diagnostics } = parseDriver(
    `---\nname: A\nid: a-mcp\ndescription: d\nversion: 1.0.0\nkind: mcp\nserver: { kind: npm, package: a }\ntransport: stdio\n${more}\nimplements:\n  - tool: a\n    ${entry}\n---\n`,
    "DRIVER.md",
  );
  if (read === undefined) throw new Error(JSON.stringify(diagnostics));
  return read;
}

const mcp = (more = ""): string => `metadata: { mcp: { tool_name: x${more} } }`;

function problems(of: Driver, to: Contract = contract()): string[] {
  const [binding] = of.implements;
  if (binding === undefined) throw new Error("no binding");
  return checkBinding(of, binding, to).map(
    ({ severity, message, hint = "" }) => `${severity}: ${message} ${hint}`,
  );
}

describe("agree", () => {
  test.each([
    `version: ^1.0.0\n    ${mcp()}`,
    `version: 1.x\n    ${mcp(", argument_mapping: { path: file, q: query }")}`,
    `version: "*"\n    schema_narrowing: { drop_inputs: [limit], drop_outputs: [b] }\n    ${mcp()}`,
    `version: 1.x\n    mapping: { path: file }\n    ${mcp(", argument_mapping: { file: name }")}`,
    `version: 1.x\n    mapping: { file: { from: path } }\n    ${mcp()}`,
    `version: 1.x\n    timeout_override_ms: 30000\n    ${mcp()}`,
    `version: 1.x\n    schema_narrowing: { drop_inputs: [q] }\n    ${mcp(", argument_mapping: { path: q }")}`,
  ])("%j", (entry) => {
    expect(problems(driver(entry))).toEqual([]);
  });
});

describe("do not agree", () => {
  test.each<[string, string]>([
    [`version: ^2.0.0\n    ${mcp()}`, 'error: implements[0].version "^2.0.0" does not include 1.2.0'],
    [
      `version: 1.x\n    schema_narrowing: { drop_inputs: [path] }\n    ${mcp()}`,
      'drop_inputs leaves out "path", which the contract requires',
    ],
    [
      `version: 1.x\n    schema_narrowing: { drop_inputs: [limt] }\n    ${mcp()}`,
      'names "limt", which is not an input of the contract Did you mean "limit"?',
    ],
    [
      `version: 1.x\n    schema_narrowing: { drop_outputs: [a] }\n    ${mcp()}`,
      'drop_outputs leaves out "a", which the contract requires',
    ],
    [
      `version: 1.x\n    ${mcp(", argument_mapping: { pth: file }")}`,
      'implements[0].metadata.mcp.argument_mapping names "pth", which is not an input of the contract Did you mean "path"?',
    ],
    [`version: 1.x\n    mapping: { pth: file }\n    ${mcp()}`, 'mapping names "pth"'],
    [
      `version: 1.x\n    ${mcp(", argument_mapping: { path: q }")}`,
      'maps the input "path" to the argument "q", but the input "q" has the same argument name',
    ],
    [`version: 1.x\n    timeout_override_ms: 30001\n    ${mcp()}`, "allows 30001 ms, more than the 30000 ms"],
    [
      `version: 1.x\n    schema_narrowing: { drop_inputs: [limit] }\n    ${mcp(", argument_mapping: { limit: max }")}`,
      'warning: implements[0].schema_narrowing.drop_inputs leaves out "limit", but a mapping uses this input',
    ],
  ])("%j", (entry, message) => {
    const found = problems(driver(entry));
    expect(found).toEqual([expect.stringContaining(message)]);
  });

  test("when the driver as a whole takes more time", () => {
    const found = problems(driver(`version: 1.x\n    ${mcp()}`, "timeout_override_ms: 60000"));
    expect(found).toEqual([expect.stringContaining("implements[0] allows 60000 ms")]);
  });

  test("when the contract wants other drivers", () => {
    const of = driver(`version: 1.x\n    ${mcp()}`);
    expect(problems(of, contract("driver_constraints: { forbid: [mcp] }"))).toHaveLength(1);
    expect(problems(of, contract("driver_constraints: { require_kind: [cli] }"))).toHaveLength(1);
    expect(problems(of, contract("driver_constraints: { require_kind: [cli, mcp] }"))).toEqual([]);
  });

  test("with the place of the entry", () => {
    const of = driver(`version: ^2.0.0\n    ${mcp()}`);
    const [binding] = of.implements;
    expect(binding && checkBinding(of, binding, contract())).toMatchObject([
      { file: "DRIVER.md", line: 11, column: 5, path: "/implements/0/version", server: "a-mcp", tool: "aa" },
    ]);
  });
});

describe("the keys of a schema", () => {
  test.each<[string, unknown, string[], string[], boolean]>([
    ["none named", { type: "object" }, [], [], true],
    ["none allowed", { additionalProperties: false }, [], [], false],
    ["named", { properties: { a: {}, b: {} }, required: ["a"] }, ["a", "b"], ["a"], false],
    ["more allowed", { properties: { a: {} }, additionalProperties: true }, ["a"], [], true],
    ["all of several", { allOf: [{ properties: { a: {} }, required: ["a"] }] }, ["a"], ["a"], false],
    ["one of several", { anyOf: [{ required: ["a"] }, { properties: { b: {} } }] }, ["b"], [], false],
    ["by reference", { $ref: "#/$defs/x", $defs: { x: { properties: { a: {} } } } }, ["a"], [], false],
    ["by reference elsewhere", { $ref: "https://a.b", properties: { a: {} } }, ["a"], [], true],
    ["by reference to itself", { $ref: "#", properties: { a: {} } }, ["a"], [], false],
  ])("%s", (_, schema, names, required, open) => {
    const keys = keysOf(schema as Parameters<typeof keysOf>[0]);
    expect([[...keys.names].sort(), [...keys.required], keys.open]).toEqual([names, required, open]);
  });
});
