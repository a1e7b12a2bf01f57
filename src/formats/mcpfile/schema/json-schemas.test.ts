// The committed JSON Schemas equal the schemas of the formats. This command writes them again:
// PORTOLAN_WRITE_SCHEMAS=1 npx vitest run src/formats/mcpfile/schema/json-schemas.test.ts && npx oxfmt schemas

import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createValidator } from "../../../schema/index.ts";
import { readYaml, toPlain } from "../../document/index.ts";
import { mcpfileSchemas } from "./json-schemas.ts";
import { MCPFILE_TEMPLATE } from "../write/starter.ts";

const WRITE = process.env.PORTOLAN_WRITE_SCHEMAS === "1";
const place = (name: string): URL => new URL(`../../../../schemas/${name}`, import.meta.url);
const fixture = (name: string): string =>
  readFileSync(new URL(`../../../../test/fixtures/mcpfiles/${name}`, import.meta.url), "utf8");

describe.each(Object.entries(mcpfileSchemas()))("schemas/%s", (name, schema) => {
  test("equals the generated JSON Schema", () => {
    if (WRITE) writeFileSync(place(name), `${JSON.stringify(schema, null, 2)}\n`);
    expect(JSON.parse(readFileSync(place(name), "utf8"))).toEqual(JSON.parse(JSON.stringify(schema)));
  });
});

const tool = "name: t, description: d, inputSchema: {type: object}";

test.each<[string, string, boolean]>([
  ["mcpfile-0.0.1", fixture("seed.yaml"), true],
  ["mcpfile-0.0.1", "mcpFileVersion: 0.0.1", true],
  ["mcpfile-0.0.1", "mcpFileVersion: 0.0.2", false],
  ["mcpfile-0.0.1", "mcpFileVersion: 0.0.1\nservers: [{name: a}]", false],
  [
    "mcpfile-0.0.1",
    `mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0, tools: [{${tool}, invocation: {}}]}]`,
    false,
  ],
  ["mcpfile-0.0.1", "mcpFileVersion: 0.0.1\nservers: [{name: a, version: '1', prompts: []}]", false],
  ["mcpfile-0.1", fixture("everything-0.1.yaml"), true],
  ["mcpfile-0.1", "mcpFileVersion: 0.1.0\nname: a\nversion: '1'\nservers: []", false],
  ["mcpfile-0.2", fixture("everything-0.2.yaml"), true],
  ["mcpfile-0.2", MCPFILE_TEMPLATE, true],
  [
    "mcpfile-0.2",
    `kind: MCPToolDefinitions\nschemaVersion: 0.2.0\nname: a\nversion: '1'\ntools: [{${tool}, invocation: {cli: {comand: x}}}]`,
    false,
  ],
  ["mcpserver-0.2", fixture("mcpserver.yaml"), true],
  [
    "mcpserver-0.2",
    "kind: MCPServerConfig\nschemaVersion: 0.2.0\nruntime: {transportProtocol: pigeon}",
    false,
  ],
])("the %s schema accepts or refuses a document as the parser does, case %#", async (name, text, valid) => {
  const schema: unknown = JSON.parse(readFileSync(place(`${name}.schema.json`), "utf8"));
  const { root } = readYaml(text, "f.yaml");
  const validator = await createValidator(schema, { budgetMs: 20_000 });
  expect(validator.check(root && toPlain(root))).toMatchObject({ valid });
});
