import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseMcpfile } from "../formats/mcpfile/index.ts";
import { createValidator } from "../schema/index.ts";
import { convertOpenApi } from "./convert.ts";
import { DEFINITION_BYTES, RESULT_LIMITS } from "./limits.ts";
import type { ConvertedApi, ConvertOptions } from "./types.ts";

const text = (words: number): string => "some words of a description ".repeat(words);

/** A schema in the shape of a Kubernetes PodSpec: definitions that refer to many others, each with long descriptions. */
function schemas(count: number): Record<string, object> {
  const entries = Array.from({ length: count }, (_, index) => {
    const refs = [index * 3 + 1, index * 3 + 2, index * 3 + 3].filter((other) => other < count);
    const parts = refs.map((other) => [`part${other}`, { $ref: `#/components/schemas/S${other}` }]);
    const own = Array.from({ length: 5 }, (__, field) => [
      `f${field}`,
      { type: "string", description: text(4) },
    ]);
    const properties = Object.fromEntries([...own, ...parts]);
    return [`S${index}`, { type: "object", description: text(3), properties, required: ["f0"] }];
  });
  return Object.fromEntries(entries);
}

/** `tags` parts of an API with `each` operations. */
function describeApi(tags: number, each: number, definitions: number): string {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/S0" } } };
  const paths = Object.fromEntries(
    Array.from({ length: tags * each }, (_, index) => [
      `/t${index % tags}/p${index}`,
      {
        post: {
          operationId: `op${index}`,
          tags: [`Part ${index % tags}`],
          requestBody: { content },
          responses: { 200: { content } },
        },
      },
    ]),
  );
  const servers = [{ url: "https://a.example" }];
  const info = { title: "A Large API", version: "1.0.0" };
  return JSON.stringify({
    openapi: "3.0.3",
    info,
    servers,
    paths,
    components: { schemas: schemas(definitions) },
  });
}

const convert = (api: string, options: Partial<ConvertOptions> = {}): ConvertedApi =>
  convertOpenApi(api, { file: "api.json", ...options });
const messages = ({ diagnostics }: ConvertedApi): string =>
  diagnostics.map(({ message }) => message).join("\n");

/** The files are valid, are different servers, and have all tools. */
function check({ files, tools }: ConvertedApi): string[] {
  const read = files.map((file) => {
    expect(Buffer.byteLength(file.text)).toBeLessThan(RESULT_LIMITS.bytes);
    const { servers, diagnostics } = parseMcpfile(file.text, file.name);
    expect(diagnostics).toEqual([]);
    expect(servers[0]?.tools).toHaveLength(file.tools);
    return servers[0];
  });
  expect(files.reduce((sum, file) => sum + file.tools, 0)).toBe(tools);
  const names = read.map((server) => server?.info.name ?? "");
  expect(new Set(names).size).toBe(files.length);
  expect(new Set(files.map(({ name }) => name.toLowerCase())).size).toBe(files.length);
  return names;
}

describe("a description that is too large for one file", () => {
  it("becomes one file for each tag, with every operation", () => {
    const result = convert(describeApi(3, 12, 60));
    expect(result.skipped).toEqual([]);
    expect(result.tools).toBe(36);
    expect(result.mcpfile).toBe("");
    expect(result.files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["part-0.mcpfile.yaml", "part-2.mcpfile.yaml"]),
    );
    expect(check(result)).toContain("a-large-api-part-1");
    expect(messages(result)).toMatch(/inputSchemas that are too large are shortened/);
  });

  it("is split within a tag that is too large itself", () => {
    const result = convert(describeApi(1, 34, 60));
    expect(result.tools).toBe(34);
    expect(result.files.map(({ name }) => name).slice(0, 2)).toEqual([
      "part-0-1.mcpfile.yaml",
      "part-0-2.mcpfile.yaml",
    ]);
    check(result);
  });

  it("keeps the schema parts near the root, and accepts all values of the whole schema", async () => {
    const { mcpfile } = convert(describeApi(1, 1, 200));
    const [tool] = (parse(mcpfile) as { tools: { inputSchema: Record<string, unknown> }[] }).tools;
    const schema = tool?.inputSchema ?? {};
    expect(JSON.stringify(schema).length).toBeLessThan(3 * DEFINITION_BYTES.input);
    const { $defs } = schema as { $defs: Record<string, { properties?: object; description?: string }> };
    expect($defs["S1"]?.properties).toBeDefined();
    expect($defs["S1"]?.properties).toHaveProperty("part4");
    const outlined = Object.values($defs).filter(({ properties }) => properties === undefined);
    expect(outlined.length).toBeGreaterThan(0);
    expect(outlined.every(({ description = "" }) => description !== "" && description.length <= 200)).toBe(
      true,
    );
    const validator = await createValidator(schema);
    const deep = (index: number): object =>
      index > 180 ? { f0: "x" } : { f0: "x", [`part${index * 3 + 1}`]: deep(index * 3 + 1) };
    expect(validator.check(deep(0)).valid).toBe(true);
    expect(validator.check({ f0: 1 }).valid).toBe(false);
  });
});

describe("the option split", () => {
  const small = describeApi(3, 2, 2);

  it("gives one file if it is not set", () => {
    expect(convert(small).files).toMatchObject([{ name: "mcpfile.yaml", tools: 6 }]);
    expect(messages(convert(small))).toBe("");
  });

  it("can be by tag or by size", () => {
    const byTag = convert(small, { split: "tag", name: "a-name-of-more-than-forty-characters-in-all" });
    expect(byTag.files.map(({ name, tools }) => [name, tools])).toEqual(
      [0, 1, 2].map((index) => [`part-${index}.mcpfile.yaml`, 2]),
    );
    expect(check(byTag).every((name) => name.length <= 40 && /part-\d$/.test(name))).toBe(true);
    const bySize = convert(describeApi(3, 12, 60), { split: "size" });
    expect(bySize.files.map(({ name }) => name)).toEqual(
      bySize.files.map((_, index) => `${index + 1}.mcpfile.yaml`),
    );
    check(bySize);
  });

  it("without it, a list of tools that is too large for a model is reported", () => {
    const many = convert(describeApi(2, 70, 1));
    expect(messages(many)).toMatch(/^140 tools with about \d+ 000 tokens are a long list/m);
    expect(messages(convert(describeApi(2, 70, 1), { only: ["tag:Part 1"] }))).toBe("");
    const hint = many.diagnostics.find(({ message }) => message.includes("tokens are a long list"))?.hint;
    expect(hint).toContain("--only tag:<name>");
  });
});
