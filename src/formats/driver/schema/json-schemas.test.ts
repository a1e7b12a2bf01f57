// The committed JSON Schemas equal the schemas of the formats. This command writes them again:
// PORTOLAN_WRITE_SCHEMAS=1 npx vitest run src/formats/driver/schema/json-schemas.test.ts && npx oxfmt schemas

import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createValidator } from "../../../schema/index.ts";
import { readYaml, toPlain } from "../../document/index.ts";
import { SANDBOX_BLOCK } from "../../manifest/index.ts";
import type { JsonSchemaObject } from "../../schema-builder/index.ts";
import { driverSchemas } from "../index.ts";

const WRITE = process.env.PORTOLAN_WRITE_SCHEMAS === "1";
const place = (name: string): URL => new URL(`../../../../schemas/${name}`, import.meta.url);

describe.each(Object.entries(driverSchemas()))("schemas/%s", (name, schema) => {
  test("equals the generated JSON Schema", () => {
    if (WRITE) writeFileSync(place(name), `${JSON.stringify(schema, null, 2)}\n`);
    expect(JSON.parse(readFileSync(place(name), "utf8"))).toEqual(JSON.parse(JSON.stringify(schema)));
  });
});

test("the sandbox of a driver has every rule of a server's sandbox except backend", () => {
  const [driver, server] = [driverSchemas()["driver.schema.json"], SANDBOX_BLOCK.toJsonSchema()];
  const rules = (schema: JsonSchemaObject | undefined): string[] => Object.keys(schema?.properties ?? {});
  const own = new Set(rules((driver?.properties as Record<string, JsonSchemaObject> | undefined)?.sandbox));
  expect(rules(server).filter((name) => !own.has(name))).toEqual(["backend"]);
});

const head = "name: A, id: a-mcp, description: d, version: 1.0.0, kind: mcp";
const entry = "{tool: a, version: ^1.0.0, metadata: {mcp: {tool_name: a}}}";
const npm = "server: {kind: npm, package: a}, transport: stdio";
const tool = "name: A, id: aa, description: d, version: 1.0.0, inputs: {type: object}, outputs: {}";
const secret = "slug: aa, name: A, description: d";

test.each<[string, string, boolean]>([
  ["driver", `{${head}, ${npm}, implements: [${entry}]}`, true],
  ["driver", `{${head}, ${npm}, implements: [${entry}], spec: agentdriver/v1}`, true],
  ["driver", `{${head}, ${npm}, implements: []}`, false],
  ["driver", `{${head}, ${npm}, implements: [{tool: a, version: ^1.0.0}]}`, false],
  ["driver", `{${head}, ${npm}, implements: [{tool: a, version: 1, metadata: {mcp: {toolName: a}}}]}`, false],
  ["driver", `{${head}, server: {kind: npm, package: a}, transport: sse, implements: [${entry}]}`, false],
  ["driver", `{${head}, server: {kind: remote, url: b}, transport: stdio, implements: [${entry}]}`, false],
  ["driver", `{${head}, server: {kind: docker, image: b}, transport: http, implements: [${entry}]}`, true],
  [
    "driver",
    `{${head}, ${npm}, implements: [${entry}], prompts: [{name: a, integrate_as: skill_block}]}`,
    false,
  ],
  ["driver", `{${head}, ${npm}, implements: [${entry}], prompts: [{name: a, integrate_as: raw}]}`, true],
  [
    "driver",
    `{${head}, ${npm}, implements: [${entry}], resources: [{uri_template: a, integrate_as: ref_kind}]}`,
    false,
  ],
  [
    "driver",
    `{${head}, ${npm}, implements: [${entry}], install: [{method: npm, package: a, user: true}]}`,
    false,
  ],
  ["driver", `{${head}, ${npm}, implements: [${entry}], sandbox: {mode: off}}`, false],
  ["driver", `{${head}, ${npm}, implements: [${entry}], sandbox: {mode: warn}}`, true],
  ["tool", `{${tool}}`, true],
  ["tool", `{${tool}, mutates: ["workspace:files"]}`, false],
  ["tool", `{${tool}, mutates: ["workspace:files"], approval: always}`, true],
  ["tool", `{${tool}, run: a}`, false],
  ["tool", `{${tool}, approval: "policy:a/b"}`, true],
  ["tool", `{${tool}, approval: never}`, false],
  ["secrets", `{secrets: [{${secret}}]}`, true],
  ["secrets", `{secrets: [{${secret}, value: x}]}`, false],
  ["secrets", `{secrets: [{${secret}, access: {bind: [{tool: a}]}}]}`, true],
  ["secrets", `{secrets: [{${secret}, access: {bind: [{tool: a, role: b}]}}]}`, false],
  ["secrets", `{secrets: [{${secret}, exposures: [{kind: env, name: A, field: b}]}]}`, true],
  ["secrets", `{secrets: []}`, false],
])("the %s schema accepts or refuses a document as the parser does, case %#", async (name, text, valid) => {
  const schema: unknown = JSON.parse(readFileSync(place(`${name}.schema.json`), "utf8"));
  const { root } = readYaml(text, "f.yaml");
  const validator = await createValidator(schema, { budgetMs: 20_000 });
  expect(validator.check(root && toPlain(root))).toMatchObject({ valid });
});
