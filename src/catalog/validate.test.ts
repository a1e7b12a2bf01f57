import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { validateFiles } from "./validate.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-validate-"));
const write = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

test.each([
  [
    "a bridge manifest",
    "bridge.yaml",
    "config: {servers: [{alias: a, transport: stdio, command: x}]}",
    "manifest",
  ],
  ["a manifest in JSON", "bridge.json", '{"config": {"servers": []}}', "manifest"],
  ["a workspace", "portolan.yaml", "version: 1", "workspace"],
  ["a workspace by another name", "work.yaml", "servers: {a: {command: x}}", "workspace"],
  ["a client's file", "any.json", '{"mcpServers": {"a": {"command": "x"}}}', "claude-code"],
  ["a client's file in TOML", "config.toml", '[mcp_servers.a]\ncommand = "x"\n', "codex"],
])("%s is recognized by its content", async (_, name, text, format) => {
  const file = write(name, text);
  const result = await validateFiles([file]);
  expect(result).toMatchObject({ valid: true, files: [{ file, format, valid: true }] });
});

test("validateFiles() reports every problem of every file", async () => {
  const result = await validateFiles([
    write("bad.yaml", "config:\n  servers:\n    - alias: a\n      transport: stido\n"),
    write("odd.yaml", "hello: world"),
    write("broken.json", "{"),
    write("text.txt", "servers"),
    write("manifest.yaml", "id: mcp\nentrypoint: main:X\n"),
    write("manifest.yml", "id: mcp\nconfig: {}\n"),
    join(folder, "missing.yaml"),
  ]);
  expect(result.valid).toBe(false);
  const told = result.diagnostics.map(
    ({ file, line, column, message }) =>
      `${file?.slice(folder.length + 1)}:${line}:${column} ${message.replaceAll(`${folder}/`, "")}`,
  );
  expect(told).toEqual([
    'bad.yaml:4:18 config.servers[0].transport cannot be "stido"',
    "odd.yaml:1:1 Portolan does not know the format of odd.yaml",
    "broken.json:1:2 not valid JSON: a closing } is expected here",
    "text.txt:1:1 Portolan does not know the format of text.txt",
    "manifest.yaml:1:1 config is missing",
    "manifest.yml:2:1 config has no servers",
    "missing.yaml:undefined:undefined missing.yaml does not exist",
  ]);
  expect(result.diagnostics[1]?.hint).toContain("portolan.yaml");
});

test("an unknown caller of a gateway rule does not hide the unknown server of the rule", async () => {
  const file = join(folder, "rules", "portolan.yaml");
  mkdirSync(join(folder, "rules"));
  writeFileSync(
    file,
    `gateway:
  callers: [{name: agent, token: "\${A}"}]
  approval: [{callers: [agnet], servers: [ow]}]
servers: {own: {command: x}}
`,
  );
  const { diagnostics } = await validateFiles([join(folder, "rules")]);
  expect(
    diagnostics.map(({ line, column, message, hint }) => `${line}:${column} ${message}. ${hint}`),
  ).toEqual([
    '3:25 no caller has the name "agnet". Did you mean "agent"?',
    '3:43 there is no server "ow". Did you mean "own"?',
  ]);
});

test("an error in a server causes no errors in the settings that name it", async () => {
  const broken = join(folder, "broken");
  mkdirSync(broken);
  writeFileSync(
    join(broken, "portolan.yaml"),
    `gateway:
  approval: [{servers: [files, other, missing], tools: [files.read]}]
servers: {files: {comand: x}}
`,
  );
  writeFileSync(
    join(broken, "manifest.yaml"),
    "config: {servers: [{alias: other, transport: stdio, comand: x}]}",
  );
  const { diagnostics } = await validateFiles([broken]);
  const messages = diagnostics.map(({ message }) => message);
  expect(messages.filter((one) => /no server|matches no tool/.test(one))).toEqual([
    'there is no server "missing"',
  ]);
});

test("the warning about a pattern that matches no tool says what it does not protect", async () => {
  const rules = join(folder, "safeguards");
  mkdirSync(rules);
  writeFileSync(
    join(rules, "portolan.yaml"),
    `gateway:
  approval: [{tools: [filesystem.read]}]
  callers: [{name: approval, token: "\${A}", allow: {tools: [a.b]}, deny: {tools: [c.d]}}]
servers: {files: {command: x}}
`,
  );
  const { diagnostics } = await validateFiles([rules]);
  const fact = "matches no tool: it does not begin with the name of a server";
  expect(diagnostics.map(({ severity, message }) => [severity, message])).toEqual([
    ["warning", `the pattern "a.b" ${fact}`],
    ["warning", `the pattern "c.d" ${fact}. The pattern denies no tool`],
    ["warning", `the pattern "filesystem.read" ${fact}. No call waits for approval because of this pattern`],
  ]);
});

test("a folder is checked as a workspace", async () => {
  const empty = join(folder, "empty");
  mkdirSync(empty);
  expect((await validateFiles([empty])).diagnostics).toMatchObject([
    { severity: "error", message: `${empty} contains no config file` },
  ]);
  const full = join(folder, "full");
  mkdirSync(full);
  writeFileSync(join(full, "portolan.yaml"), "sources: [none.json]");
  expect((await validateFiles([full])).diagnostics).toMatchObject([
    { file: join(full, "portolan.yaml"), line: 1, column: 11 },
  ]);
});
