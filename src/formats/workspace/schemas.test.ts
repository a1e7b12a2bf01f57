// The committed JSON Schemas equal the schemas of the formats. This command writes them again:
// PORTOLAN_WRITE_SCHEMAS=1 npx vitest run src/formats/workspace/schemas.test.ts && npx oxfmt schemas

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createValidator } from "../../schema/index.ts";
import { MANIFEST } from "../manifest/index.ts";
import { readYaml, toPlain } from "../document/index.ts";
import { toJsonSchemaDocument } from "../schema-builder/index.ts";
import { WORKSPACE } from "./schema.ts";

const WRITE = process.env.PORTOLAN_WRITE_SCHEMAS === "1";
const SCHEMAS = [
  ["portolan.schema.json", toJsonSchemaDocument(WORKSPACE, "portolan.yaml")],
  ["manifest.schema.json", toJsonSchemaDocument(MANIFEST, "MCP bridge manifest")],
] as const;

describe.each(SCHEMAS)("schemas/%s", (name, schema) => {
  const url = new URL(`../../../schemas/${name}`, import.meta.url);

  test("equals the generated JSON Schema", () => {
    if (WRITE) writeFileSync(url, `${JSON.stringify(schema, null, 2)}\n`);
    expect(JSON.parse(readFileSync(url, "utf8"))).toEqual(schema);
  });
});

test.each<[string, string, boolean]>([
  ["portolan.schema.json", "version: 1\nservers: {a: {command: x, args: [1, b]}}", true],
  [
    "portolan.schema.json",
    "naming: 'mcp_{alias}_{tool}'\ndefaults: {idle_stop: 5m, timeouts: {start: 30}}",
    true,
  ],
  ["portolan.schema.json", "x-own: {a: 1}\nsources: a.json", true],
  [
    "portolan.schema.json",
    "gateway: {port: 0, limits: {rate: 5/s}, callers: [{name: a, oauth: {}, deny: {annotations: [not-read-only]}}]}",
    true,
  ],
  ["portolan.schema.json", "gateway: {limits: {rate: fast}}", false],
  ["portolan.schema.json", "gateway: {callers: [{token: a}]}", false],
  ["portolan.schema.json", "gateway: {allowed_hosts: ['https://a']}", false],
  ["portolan.schema.json", "naming: '{alias}'", false],
  ["portolan.schema.json", "servers: {a b: {command: x}}", false],
  ["portolan.schema.json", "servers: {a: {comand: x}}", false],
  ["portolan.schema.json", "version: 2", false],
  ["portolan.schema.json", "defaults: {idle_stop: soon}", false],
  ["manifest.schema.json", "id: a\nconfig: {servers: [{alias: a, transport: http, url: b}]}", true],
  ["manifest.schema.json", "config: {servers: [{alias: a, transport: stido}]}", false],
  ["manifest.schema.json", "config: {servers: [{transport: stdio}]}", false],
  ["manifest.schema.json", "id: a", false],
])("the schema %s accepts %j: %s", async (name, text, valid) => {
  const schema: unknown = JSON.parse(
    readFileSync(new URL(`../../../schemas/${name}`, import.meta.url), "utf8"),
  );
  const { root } = readYaml(text, "f.yaml");
  // A busy machine must not fail the test.
  const validator = await createValidator(schema, { budgetMs: 10_000 });
  expect(validator.check(root && toPlain(root)).valid).toBe(valid);
});

/** First words that do not name the subject of a description. */
const VAGUE = /^(?:what|who|whom|whoever|where|how|those|these|it|its)\b/i;

function descriptionsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "description" && typeof inner === "string" ? [inner] : descriptionsIn(inner),
  );
}

test.each(readdirSync(new URL("../../../schemas/", import.meta.url)))(
  "every description in schemas/%s is a sentence that names its subject",
  (name) => {
    const url = new URL(`../../../schemas/${name}`, import.meta.url);
    const descriptions = descriptionsIn(JSON.parse(readFileSync(url, "utf8")));
    expect(descriptions.length).toBeGreaterThan(0);
    expect(descriptions.filter((one) => !one.endsWith(".") || VAGUE.test(one))).toEqual([]);
  },
);
