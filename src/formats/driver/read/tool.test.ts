// Reading a TOOL.md, and the errors that are refused.

import { describe, expect, test } from "vitest";
import { createValidator } from "../../../schema/index.ts";
import { parseTool } from "../index.ts";

const HEAD = "name: Read\nid: fs-read\ndescription: Reads.\nversion: 1.0.0";
const IO = "inputs: { type: object, properties: { path: { type: string } } }\noutputs: { type: object }";
const file = (...parts: string[]): string => `---\n${parts.join("\n")}\n---\n# Read\n`;

test("reads a minimal TOOL.md and applies defaults", () => {
  expect(parseTool(file(HEAD, IO), "TOOL.md")).toEqual({
    diagnostics: [],
    contract: {
      id: "fs-read",
      name: "Read",
      description: "Reads.",
      version: "1.0.0",
      inputs: { type: "object", properties: { path: { type: "string" } } },
      outputs: { type: "object" },
      idempotent: false,
      mutates: [],
      requires: { network: [], secrets: [], tools: [] },
      approval: "auto",
      riskLevel: 0,
      costClass: "trivial",
      timeoutMs: 30_000,
      driverConstraints: { forbid: [], requireKind: [] },
      tags: [],
      examples: [],
      metadata: {},
      origin: { file: "TOOL.md", line: 2, column: 1, format: "tool" },
    },
  });
});

test("reads every field of a TOOL.md", () => {
  const { contract, diagnostics } = parseTool(
    file(
      HEAD,
      "inputs: { type: object, properties: { type: , n: { type: [string, null] } } }",
      "outputs: { type: null }",
      "idempotent: true",
      "mutates: ['workspace:files']",
      "requires: { network: [a.b], secrets: [a-key], tools: [fs-list] }",
      "approval: policy:finance/large",
      "risk_level: 3",
      "cost_class: metered",
      "timeout_ms: 100",
      "retry: { max_attempts: 20, backoff: fixed, initial_ms: 0 }",
      "default_implementation: filesystem-mcp",
      "driver_constraints: { forbid: [cli], require_kind: [mcp, http] }",
      "tags: [files]",
      "examples: [{ name: a, input: { path: b }, output: null, note: c }, { name: d, input: {} }]",
      "metadata: { own: 1, contextSchema: { type: object } }",
      "implements: ./actions/read",
    ),
    "TOOL.md",
  );
  expect(diagnostics).toMatchObject([
    { severity: "info", message: "Portolan ignores the key implements of a contract" },
  ]);
  expect(contract).toMatchObject({
    inputs: { type: "object", properties: { type: {}, n: { type: ["string", "null"] } } },
    outputs: { type: "null" },
    contextSchema: { type: "object" },
    idempotent: true,
    mutates: ["workspace:files"],
    requires: { network: ["a.b"], secrets: ["a-key"], tools: ["fs-list"] },
    approval: "policy:finance/large",
    riskLevel: 3,
    costClass: "metered",
    timeoutMs: 100,
    retry: { maxAttempts: 20, backoff: "fixed", initialMs: 0 },
    defaultImplementation: "filesystem-mcp",
    driverConstraints: { forbid: ["cli"], requireKind: ["mcp", "http"] },
    examples: [
      { name: "a", input: { path: "b" }, output: null, note: "c" },
      { name: "d", input: {} },
    ],
    metadata: { own: 1 },
  });
  expect(contract?.examples[1]).not.toHaveProperty("output");
});

describe("refused contracts", () => {
  const deep = `${"{ not: ".repeat(70)}{}${" }".repeat(70)}`;
  const wide = `{ anyOf: [${Array.from({ length: 5_100 }, () => "{}").join(", ")}] }`;

  test.each<[string, string, string, string?]>([
    ...["code", "run", "runner", "entry", "execute", "secrets", "network"].map(
      (key): [string, string, string, string] => [
        `the removed field ${key}`,
        file(HEAD, IO, `${key}: a`),
        `the key ${key} is not allowed here`,
        "DRIVER.md",
      ],
    ),
    [
      "the old default_driver",
      file(HEAD, IO, "default_driver: a"),
      "default_driver",
      "default_implementation",
    ],
    ["a key of a driver", file(HEAD, IO, "kind: mcp"), "the key kind is not allowed here", "DRIVER.md"],
    [
      "names that are required and no list",
      file(HEAD, "inputs: { type: object, required: path }\noutputs: { type: object }"),
      "inputs.required is not valid in JSON Schema",
      "list of names",
    ],
    [
      "a reference to nothing",
      file(HEAD, "inputs: { type: object }\noutputs: { properties: { x: { $ref: '#/$defs/nope' } } }"),
      'outputs.properties.x.$ref refers to "#/$defs/nope", which does not exist',
      "$defs",
    ],
    [
      "a reference to elsewhere",
      file(HEAD, "inputs: { type: object }\noutputs: { $ref: 'https://a.b/c.json' }"),
      "Portolan reads no schema outside of the contract",
      "$defs",
    ],
    [
      "a reference that is itself",
      file(
        HEAD,
        "inputs: { type: object }\noutputs: { anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } } }",
      ),
      "which refers back to itself",
      "in a property",
    ],
    [
      "a part that a public schema does not have",
      file(
        HEAD,
        "inputs: { type: object }\noutputs: { $ref: 'https://agentproto.sh/schemas/aip-16/IO.schema.json#/$defs/files2' }",
      ),
      "has no such definition",
      "inputsFiles",
    ],
    ["an unknown key", file(HEAD, IO, "aproval: always"), 'unknown key "aproval"', '"approval"'],
    ["a change without leave", file(HEAD, IO, "mutates: ['a:b']"), "approval is missing", "on-mutate"],
    [
      "a change with auto",
      file(HEAD, IO, "mutates: ['a:b']", "approval: auto"),
      "approval is auto",
      "on-mutate",
    ],
    [
      "a change of nothing known",
      file(HEAD, IO, "mutates: [files]", "approval: always"),
      "mutates[0] cannot be",
    ],
    ["no inputs", file(HEAD, "outputs: {}"), "inputs is missing"],
    ["inputs that say true", file(HEAD, "inputs: true", "outputs: {}"), "inputs must be an object"],
    [
      "inputs that are no object",
      file(HEAD, "inputs: { type: string }", "outputs: {}"),
      "must have type: object",
    ],
    [
      "a type that is none",
      file(HEAD, "inputs: { properties: { a: { type: text } } }", "outputs: {}"),
      'inputs.properties.a.type cannot be "text"',
    ],
    [
      "a pattern that is none",
      file(HEAD, "inputs: { properties: { a: { pattern: '(' } } }", "outputs: {}"),
      'the pattern "("',
    ],
    ["a deep schema", file(HEAD, IO.replace("outputs: { type: object }", `outputs: ${deep}`)), "nested"],
    ["a wide schema", file(HEAD, `inputs: ${wide}`, "outputs: {}"), "inputs cannot be used", "smaller"],
    ["a strange context", file(HEAD, IO, "metadata: { contextSchema: 1 }"), "metadata.contextSchema must be"],
    ["an approval that is none", file(HEAD, IO, "approval: never"), "approval cannot be", "on-mutate"],
    ["a risk of 4", file(HEAD, IO, "risk_level: 4"), "risk_level must be a whole number from 0 to 3"],
    ["21 attempts", file(HEAD, IO, "retry: { max_attempts: 21, backoff: fixed }"), "from 1 to 20"],
    ["a retry without pauses", file(HEAD, IO, "retry: { max_attempts: 2 }"), "backoff is missing in retry"],
    [
      "an example without input",
      file(HEAD, IO, "examples: [{ name: a }]"),
      "input is missing in examples[0]",
    ],
    ["an id that ends with a dot", file(HEAD.replace("fs-read", "fs."), IO), 'id cannot be "fs."'],
  ])("%s", (_, text, message, hint = "") => {
    const { contract, diagnostics } = parseTool(text, "TOOL.md");
    expect(contract).toBeUndefined();
    const found = diagnostics.find((problem) => problem.message.includes(message));
    expect(found, JSON.stringify(diagnostics, null, 1)).toBeDefined();
    expect(found?.hint ?? "").toContain(hint);
    expect(diagnostics).toHaveLength(1);
  });
});

test("accepts a recursive schema", () => {
  const tree =
    "{ type: object, properties: { inner: { $ref: '#' }, all: { type: array, items: { $ref: '#/$defs/a' } } }, $defs: { a: { properties: { a: { $ref: '#/$defs/a' } } } } }";
  expect(parseTool(file(HEAD, `inputs: ${tree}`, "outputs: {}"), "TOOL.md").diagnostics).toEqual([]);
});

test.each([
  "https://agentproto.sh/docs/aip-27/REF.schema.json",
  "https://agentproto.dev/schemas/aip-27/REF.schema.json",
])("resolves the public schema of references without network access: %s", async (address) => {
  const inputs = `inputs: { type: object, properties: { from: { $ref: '${address}' }, $ref: { const: '${address}' } }, required: [from] }`;
  const { contract, diagnostics } = parseTool(file(HEAD, inputs, "outputs: {}"), "TOOL.md");
  expect(diagnostics).toEqual([]);
  expect(JSON.stringify(contract?.inputs).split(address)).toHaveLength(2);
  const validator = await createValidator(contract?.inputs);
  const accepts = (from: unknown): unknown => validator.check({ from }).valid;
  expect(accepts("github:a/b@main:c")).toBe(true);
  expect(accepts("mcp_filesystem:file:///a")).toBe(true);
  expect(accepts({ kind: "local", path: "a/b.md" })).toBe(true);
  expect(accepts({ kind: "mcp_filesystem", uri: "file:///a" })).toBe(true);
  expect(accepts({ kind: "ots", proof: { kind: "local", path: "a" } })).toBe(true);
  expect(accepts("no reference")).toBe(false);
  expect(accepts({ kind: "local", path: "../a" })).toBe(false);
  expect(accepts({ kind: "github", owner: "a" })).toBe(false);
});

test("resolves parts of the public schema of inputs and outputs", async () => {
  const files = "{ $ref: 'https://agentproto.sh/schemas/aip-16/IO.schema.json#/$defs/inputsFiles' }";
  const { contract } = parseTool(file(HEAD, "inputs: { type: object }", `outputs: ${files}`), "TOOL.md");
  const validator = await createValidator(contract?.outputs);
  expect(validator.check({ a: { path: "b", mode: "ro" } }).valid).toBe(true);
  expect(validator.check({ a: { mode: "ro" } }).valid).toBe(false);
});
