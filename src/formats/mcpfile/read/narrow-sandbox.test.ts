// The sandbox of a command can only narrow the sandbox of its file.

import { expect, test } from "vitest";
import type { SandboxConfig } from "../../../model/index.ts";
import { parseMcpfile } from "./parse.ts";
import { renderMcpfile } from "../write/render.ts";
import { upgradeMcpfile } from "../write/upgrade.ts";

function read(file: string | undefined, command: string | undefined) {
  const text = [
    "kind: MCPToolDefinitions",
    'schemaVersion: "0.2.0"',
    "name: s",
    'version: "1.0.0"',
    ...(file === undefined ? [] : [`sandbox: ${file}`]),
    "tools:",
    "  - name: t",
    "    description: d",
    "    inputSchema: { type: object }",
    "    invocation:",
    `      cli: { command: ls${command === undefined ? "" : `, sandbox: ${command}`} }`,
    "",
  ].join("\n");
  const { servers, diagnostics } = parseMcpfile(text, "/files/mcpfile.yaml");
  const invocation = servers[0]?.tools[0]?.invocation;
  return {
    text,
    servers,
    sandbox: invocation?.kind === "cli" ? invocation.sandbox : undefined,
    problems: diagnostics
      .filter(({ severity }) => severity !== "info")
      .map(({ message, line, column }) => `${line}:${column} ${message}`),
  };
}

test.each<[string | undefined, string | undefined, SandboxConfig | undefined]>([
  [undefined, undefined, undefined],
  ["warn", undefined, { mode: "warn" }],
  [undefined, "{ network: [a.com] }", { network: ["a.com"] }],
  ["warn", "enforce", { mode: "enforce" }],
  ["{ network: ['*.a.com', b.com] }", "{ network: [x.a.com] }", { network: ["x.a.com"] }],
  ["{ network: ['*.a.com'] }", "{ network: ['*.x.a.com'] }", { network: ["*.x.a.com"] }],
  ["{ network: ['*'] }", "{ network: ['*.a.com', b.com] }", { network: ["*.a.com", "b.com"] }],
  ["{ network: ['a.com:443', 'a.com:80'] }", "{ network: [a.com] }", { network: ["a.com"] }],
  ["{ network: [a.com] }", "{ network: [] }", { network: [] }],
  [
    "{ fs: { read: [d], write: [w], deny: [d/x] } }",
    "{ fs: { read: [d/y, w/z], write: [], deny: [d/q] } }",
    {
      fs: {
        read: ["/files/d/y", "/files/w/z"],
        write: [],
        deny: ["/files/d/x", "/files/d/q"],
      },
    },
  ],
  [
    "{ limits: { processes: 9 } }",
    "{ limits: { memory: 1KB } }",
    { limits: { processes: 9, memoryBytes: 1_000 } },
  ],
  [
    "{ env: { pass: [A, B], set: { X: a } } }",
    "{ env: { pass: [A], set: { Y: b } } }",
    { env: { pass: ["A"], set: { X: "a", Y: "b" } } },
  ],
  ["{ exec: { spawn: false } }", "{ exec: { allow: [git] } }", { exec: { spawn: false, allow: ["git"] } }],
])("combines the sandbox of the file, %s, with that of the command, %s", (file, command, sandbox) => {
  const found = read(file, command);
  expect(found.problems).toEqual([]);
  expect(found.sandbox).toEqual(sandbox);
  // The file has the same meaning after it is written again and after an upgrade.
  const [server] = found.servers;
  if (server === undefined) throw new Error("no server");
  expect(parseMcpfile(renderMcpfile(server), "/files/mcpfile.yaml").servers).toEqual(found.servers);
  expect(upgradeMcpfile(found.text, "/files/mcpfile.yaml").files).toHaveLength(1);
});

test.each<[string, string, string]>([
  ["{}", "off", "11:36 the sandbox of the file does not allow the mode off"],
  ["enforce", "{ mode: warn }", "11:44 the sandbox of the file does not allow the mode warn"],
  ["{}", "{ network: [a.com] }", '11:48 the sandbox of the file does not allow "a.com"'],
  ["{}", "{ network: { egress: [a.com] } }", '11:58 the sandbox of the file does not allow "a.com"'],
  ["{ network: [a.com] }", "{ network: ['a.com:22'] }", 'does not allow "a.com:22"'],
  ["{ network: ['*.a.com'] }", "{ network: [a.com] }", 'does not allow "a.com"'],
  ["{ network: ['*.a.com'] }", "{ network: ['*.xa.com'] }", 'does not allow "*.xa.com"'],
  ["{ network: ['*'] }", "{ network: [localhost] }", 'does not allow "localhost"'],
  ["{ network: ['*'] }", "{ network: [10.0.0.1] }", 'does not allow "10.0.0.1"'],
  ["{ network: [a.com] }", "{ network: ['*'] }", 'does not allow "*"'],
  ["{ fs: { read: [d] } }", "{ fs: { read: [dd] } }", 'does not allow "/files/dd"'],
  ["{ fs: { read: [d] } }", "{ fs: { read: [.] } }", 'does not allow "/files"'],
  ["{ fs: { read: [d] } }", "{ fs: { write: [d] } }", 'does not allow "/files/d"'],
  ["{ fs: { read: [~/d] } }", "{ fs: { read: [~/] } }", 'does not allow "~/"'],
  ["{ env: { pass: [A] } }", "{ env: { pass: [B] } }", 'does not allow "B"'],
  ["{ exec: { allow: [git] } }", "{ exec: { allow: [sh] } }", 'does not allow "sh"'],
  ["{ exec: { spawn: false } }", "{ exec: { spawn: true } }", "does not allow starting other processes"],
  ["{ home: private }", "{ home: kept }", "does not allow a kept home"],
  ["{ limits: { memory: 1KB } }", "{ limits: { memory: 2KB } }", "does not allow memory 2000"],
  ["{ limits: { niceness: 5 } }", "{ limits: { niceness: 1 } }", "does not allow niceness 1"],
  ["{ backend: docker }", "{ backend: srt }", "does not allow the backend srt"],
])("the sandbox %s of the file cannot be widened by %s", (file, command, problem) => {
  const found = read(file, command);
  expect(found.problems).toHaveLength(1);
  expect(found.problems[0]).toContain(problem);
  expect(found.servers[0]?.tools).toEqual([]);
});

test("in version 0.0.1 the server sets the sandbox, and a command that extends a base cannot widen it", () => {
  const old = parseMcpfile(
    'mcpFileVersion: 0.0.1\nservers: [{name: s, version: "1.0.0", sandbox: warn, tools: [{name: t, description: d, inputSchema: {type: object}, invocation: {cli: {command: ls}}}]}]\n',
    "/files/mcpfile.yaml",
  );
  expect(old.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  expect(old.servers[0]?.tools[0]?.invocation).toMatchObject({ sandbox: { mode: "warn" } });
  const extended = parseMcpfile(
    `kind: MCPToolDefinitions
schemaVersion: "0.2.0"
name: s
version: "1.0.0"
sandbox: { network: [a.com] }
invocationBases:
  base: { cli: { command: ls, sandbox: { network: [b.com] } } }
tools:
  - name: t
    description: d
    invocation: { extends: { from: base } }
`,
    "/files/mcpfile.yaml",
  );
  expect(extended.diagnostics).toMatchObject([
    { line: 11, message: 'the sandbox of the file does not allow "b.com"', tool: "t" },
  ]);
});

test("an HTTP invocation cannot have a sandbox", () => {
  const { diagnostics } = parseMcpfile(
    'kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: s\nversion: "1.0.0"\ntools:\n  - name: t\n    description: d\n    invocation: { http: { method: GET, url: "https://a.com", sandbox: off } }\n',
    "/files/mcpfile.yaml",
  );
  expect(diagnostics.map(({ message }) => message)).toEqual([
    'unknown key "sandbox" in tools[0].invocation.http',
  ]);
});
