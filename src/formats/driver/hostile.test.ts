// Hostile files: reading is quick, never throws, and never repeats the value of a secret.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDriver, parseSecrets, parseSkill, parseTool } from "./index.ts";

const DRIVER = `---
name: Demo
id: demo-mcp
description: A demo.
version: 1.0.0
kind: mcp
server: { kind: docker, image: a, args: [b], env: { A: "\${secrets.A}" }, port: 80, path: /a }
transport: stdio
protocol_version: "2025-03"
install: [{ method: npm, package: a, global: false }, { method: curl, url: "https://a.b" }]
version_check: { cmd: a, parse: "v(a)", range: ">=0.5" }
network: { egress: [a.b] }
sandbox: { fs: { read: [./a] }, exec: { allow: true, spawn: [a] }, env: { pass: [A], set: { B: c } } }
auth: { ref: a, state: { env: [A] }, login: { cmd: a, completes_when: { exit_code: 0 } }, refresh: { every: PT1H }, expiry: { detect: "exit_code:1" } }
health_check: { method: http, http: { method: GET, url: "https://a.b" }, every: PT1M }
implements:
  - tool: ./a/TOOL.md
    version: ^1.0.0
    schema_narrowing: { drop_inputs: [a] }
    mapping: { a: { from: b } }
    metadata: { mcp: { tool_name: a, argument_mapping: { a: b }, result_extract: "$.a[*]" } }
prompts: [{ name: a, integrate_as: skill_block, skill_ref: a }]
resources: [{ uri_template: "a:{b}", integrate_as: ref_kind, ref_kind_id: a }]
---
`;
const TOOL = `---
name: A
id: aa
description: d
version: 1.0.0
inputs: { type: object, properties: { a: { type: string, pattern: "^a" } }, required: [a] }
outputs: { anyOf: [{ type: null }, { type: array, items: { $ref: "#" } }] }
mutates: ["a:b"]
approval: always
retry: { max_attempts: 1, backoff: fixed }
examples: [{ name: a, input: { a: b }, output: c }]
metadata: { contextSchema: { type: object } }
---
`;
const SECRETS = `---
secrets:
  - { slug: aa, name: A, description: d, access: { bind: [{ tool: a }] }, exposures: [{ kind: env, name: A, field: b }], metadata: { bindings: { env: [A] } } }
---
`;
const FILES = [DRIVER, TOOL, SECRETS];

function survives(text: string): void {
  // This is CPU time, so that a busy machine does not fail the test.
  const before = process.cpuUsage();
  const found = [
    parseDriver(text, "DRIVER.md"),
    parseDriver(DRIVER.replace(/^server:.*$/m, ""), "DRIVER.md", {
      serverJson: { text, file: "server.json" },
    }),
    parseTool(text, "TOOL.md"),
    parseSecrets(text, "SECRETS.md"),
    parseSkill(text, "SKILL.md"),
  ];
  for (const { line, column, message, hint } of found.flatMap(({ diagnostics }) => diagnostics)) {
    expect(message).not.toBe("");
    expect(hint).not.toBe("");
    expect((line ?? 1) >= 1 && (column ?? 1) >= 1).toBe(true);
  }
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
}

test("the unchanged sample files are valid", () => {
  expect(parseDriver(DRIVER, "DRIVER.md").driver).toBeDefined();
  expect(parseTool(TOOL, "TOOL.md").diagnostics).toEqual([]);
  expect(parseSecrets(SECRETS, "SECRETS.md").diagnostics).toEqual([]);
});

describe("hostile input", () => {
  test("random text is read without an exception", () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), survives));
    fc.assert(fc.property(fc.string({ maxLength: 100 }), (text) => survives(`---\n${text}\n---\n`)));
  });

  test("random words of the formats are read without an exception", () => {
    const known = [...new Set(FILES.join(" ").match(/[A-Za-z_0-9.^$]+/g) ?? [])];
    const part = fc.oneof(
      fc.constantFrom(...known.map((word) => `${word}: `)),
      fc.constantFrom(...known),
      fc.constantFrom(
        "\n",
        "\n  ",
        "\n- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "'",
        '"',
        "|",
        ">",
        "*a",
        "&a ",
        "---\n",
        "${secrets.",
        "}",
        "null",
        "__proto__: ",
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 50 }), (parts) => survives(`---\n${parts.join("")}\n---\n`)),
      { numRuns: 200 },
    );
  });

  test("a valid file with a replaced value is read without an exception", () => {
    const values = fc.constantFrom(
      "",
      "1",
      "-1",
      "true",
      "~",
      "[]",
      "{}",
      "[[]]",
      "[~]",
      "{ a: b }",
      "[{ a: ~ }]",
      "constructor",
      "'__proto__'",
      "'\\0'",
      "x",
      "'${secrets.X}'",
      "'${'",
      ".inf",
      ".nan",
      "1e400",
      "'\u202e'",
    );
    const cut = fc.record({
      file: fc.constantFrom(...FILES),
      at: fc.nat(2_000),
      length: fc.nat(30),
      by: values,
    });
    fc.assert(
      fc.property(cut, ({ file, at, length, by }) => {
        const from = at % file.length;
        survives(file.slice(0, from) + by + file.slice(from + length));
      }),
      { numRuns: 100 },
    );
    // The whole value of each key, one after the other.
    for (const [file, parse] of [
      [DRIVER, parseDriver],
      [TOOL, parseTool],
      [SECRETS, parseSecrets],
    ] as const)
      for (const match of file.matchAll(/([a-z_]+: )("[^"]*"|[^\s,{}[\]]+|\{[^{}]*\}|\[[^[\]]*\])/g))
        for (const by of ["", "1", "[~]", "{ a: ~ }"])
          parse(
            file.slice(0, match.index) + match[1] + by + file.slice(match.index + match[0].length),
            "f.md",
          );
  });
});

test.each([
  [
    "many entries",
    `---\nimplements:\n${"  - { tool: a, version: 1.x, metadata: { mcp: { tool_name: a } } }\n".repeat(9_000)}---\n`,
  ],
  ["many keys", `---\n${Array.from({ length: 30_000 }, (_, index) => `key${index}: 1`).join("\n")}\n---\n`],
  [
    "many misspelled keys",
    `---\n${Array.from({ length: 30_000 }, (_, index) => `transpor${index}: 1`).join("\n")}\n---\n`,
  ],
  [
    "many mapped keys",
    `---\nimplements: [{ metadata: { mcp: { argument_mapping: { ${Array.from({ length: 20_000 }, (_, index) => `a${index}: b`).join(", ")} } } } }]\n---\n`,
  ],
  [
    "a long path",
    `---\nimplements: [{ metadata: { mcp: { tool_name: a, result_extract: "$${".a".repeat(100_000)}" } } }]\n---\n`,
  ],
  ["long references", `---\nserver: { kind: npm, package: a, env: { A: "${"${".repeat(200_000)}" } }\n---\n`],
  [
    "long patterns",
    `---\nversion_check: { cmd: a, parse: "${"(a*)*".repeat(20_000)}b", range: "${"1.x || ".repeat(20_000)}" }\n---\n`,
  ],
  ["long patterns of a schema", `---\ninputs: { pattern: "${"(a*)*".repeat(40_000)}b" }\n---\n`],
  ["many fences", "---\n".repeat(200_000)],
  ["many dashes", `---\n${"-".repeat(900_000)}`],
  ["many spaces after dashes", `---\n---${" ".repeat(900_000)}x`],
  ["many secrets", `---\nsecrets:\n${"  - { slug: aa, name: n, description: d }\n".repeat(10_000)}---\n`],
  ["a deep schema", `---\ninputs: ${"{ not: ".repeat(60)}{}${" }".repeat(60)}\n---\n`],
  [
    "a long template",
    `---\nresources: [{ uri_template: "${"{".repeat(300_000)}", integrate_as: raw }]\n---\n`,
  ],
  ["a long duration", `---\nauth: { refresh: { every: P${"1".repeat(300_000)}D } }\n---\n`],
])("a file with %s is read quickly", (_, text) => {
  survives(text);
});
