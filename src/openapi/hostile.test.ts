import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseMcpfile } from "../formats/mcpfile/index.ts";
import { convertOpenApi } from "./convert.ts";
import { SPEC_LIMITS } from "./limits.ts";
import { findInJson } from "./document/locate-json.ts";

const HEAD = {
  openapi: "3.0.0",
  info: { title: "T", version: "1.0.0" },
  servers: [{ url: "https://a.example" }],
};
const json = (more: object): string => JSON.stringify({ ...HEAD, ...more });

describe("hostile texts", () => {
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefghi".split("").map((name, index) => {
      const above = "abcdefgh"[index] ?? "a";
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${above}`).join(", ")}]`;
    }),
  ].join("\n");

  it.each([
    ["nothing", "", "is not an OpenAPI document"],
    ["another file", "a: 1", 'neither the key "openapi" nor "swagger"'],
    ["an unknown version", "openapi: 4.0.0", 'OpenAPI "4.0.0" is not supported'],
    ["Swagger 1", "swagger: 1.2", 'Swagger "1.2" is not supported'],
    ["a huge file", "a".repeat(SPEC_LIMITS.bytes + 1), "bytes"],
    ["open brackets", "[".repeat(1_000_000), "nested more than 64 deep"],
    ["deep JSON", `${"[".repeat(5_000)}${"]".repeat(5_000)}`, "nested more than 64 deep"],
    ["many values", `[${"1,".repeat(1_100_000)}1]`, "values"],
    ["an alias bomb", bomb, "values"],
    ["no anchor", "a: *x", "alias"],
    ["two documents", "a: 1\n---\nb: 2", "several YAML documents"],
    ["broken YAML", "a: b: c", "not valid YAML"],
  ])("give an error: %s", (_, text, expected) => {
    const started = performance.now();
    const result = convertOpenApi(text, { file: "f.yaml" });
    expect(result).toMatchObject({ mcpfile: "", tools: 0, skipped: [] });
    expect(result.diagnostics[0]).toMatchObject({ severity: "error" });
    expect(result.diagnostics.map(({ message }) => message).join()).toContain(expected);
    expect(performance.now() - started).toBeLessThan(25_000);
  });

  it("the error of broken JSON has a position, and comments are accepted", () => {
    expect(convertOpenApi('{\n "a" 1}', { file: "f.json" }).diagnostics[0]).toMatchObject({
      line: 2,
      column: 6,
    });
    const text = json({ paths: { "/x": { get: {}, trace: {} } } }).replace("{", "{ // why\n");
    const result = convertOpenApi(text, { file: "f.json" });
    expect(result.tools).toBe(1);
    expect(result.skipped).toMatchObject([{ operation: "TRACE /x", line: 2 }]);
  });

  it("keys such as __proto__ are left out with a diagnostic, and pollute no prototype", () => {
    const text = json({ paths: { "/x": { get: { operationId: "x" } } } }).replace(
      '"get":',
      '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"get":',
    );
    for (const file of ["f.json", "f.yaml"]) {
      const result = convertOpenApi(text, { file });
      expect(result.tools).toBe(1);
      expect(result.diagnostics).toMatchObject([
        { path: "/paths/~1x/__proto__" },
        { path: "/paths/~1x/constructor" },
      ]);
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it(
    "too many operations with linked schemas are converted in bounded time and size",
    { timeout: 120_000 },
    () => {
      const count = 120;
      const schemas = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `S${index}`,
          {
            type: "object",
            properties: Object.fromEntries(
              Array.from({ length: 10 }, (_, other) => [
                `p${other}`,
                {
                  $ref: `#/components/schemas/S${(index * 7 + other * 13) % count}`,
                  description: "x".repeat(40),
                },
              ]),
            ),
          },
        ]),
      );
      const $ref = "#/components/schemas/S1";
      const content = { "application/json": { schema: { $ref } } };
      const paths = Object.fromEntries(
        Array.from({ length: SPEC_LIMITS.operations + 5 }, (_, index) => [
          `/p${index}`,
          {
            post: { requestBody: index % 2 === 0 ? { content } : undefined, responses: { 200: { content } } },
          },
        ]),
      );
      const started = performance.now();
      const result = convertOpenApi(json({ paths, components: { schemas } }), { file: "f.json" });
      expect(performance.now() - started).toBeLessThan(100_000);
      const messages = result.diagnostics.map(({ message }) => message).join("\n");
      expect(messages).toContain("at most 2000 are converted: 5");
      expect(messages).toContain("inputSchemas that are too large are shortened");
      expect(messages).toContain("tokens are a long list");
      expect(result.tools).toBe(SPEC_LIMITS.operations);
      for (const { text } of result.files.slice(0, 2))
        expect(parseMcpfile(text, "m.yaml").diagnostics).toEqual([]);
    },
  );
});

it("findInJson() returns the offset of a key", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (value, pretty) => {
      const text = JSON.stringify({ a: value, z: [value] }, null, pretty ? 2 : 0);
      const [a = 0, item = 0, nowhere] = findInJson(text, [["a"], ["z", 0], ["z", 9, "x"]]);
      expect(text.slice(a)).toMatch(/^"a":/);
      const compact = JSON.stringify(value);
      expect(text.slice(item).replace(/\s/g, "").startsWith(compact.replace(/\s/g, ""))).toBe(true);
      expect(text.slice(nowhere)).toMatch(/^"z":/);
    }),
  );
});

describe("any description", () => {
  const name = fc.oneof(
    fc.constantFrom("id", "a b", "x[y]", "$z", "é", "__proto__", "body", "{", "}}", "\ud800"),
    fc.string({ maxLength: 5 }),
  );
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(
        {},
        true,
        null,
        5,
        "x",
        [],
        { $ref: "#/components/schemas/A" },
        { $ref: "x.json" },
        { type: "string", nullable: true },
      ),
      fc.record(
        {
          type: fc.constantFrom("object", "array", "string", "file", ["string", "null"], 7),
          properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
          required: fc.oneof(fc.array(name, { maxLength: 2 }), fc.boolean()),
          items: tie("schema"),
          allOf: fc.array(tie("schema"), { maxLength: 2 }),
          oneOf: fc.array(tie("schema"), { maxLength: 2 }),
          additionalProperties: tie("schema"),
          enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
          readOnly: fc.boolean(),
          description: fc.string({ unit: "binary", maxLength: 20 }),
          default: fc.jsonValue({ maxDepth: 1 }),
        },
        { requiredKeys: [] },
      ),
    ),
  }));
  const parameter = fc.record(
    {
      name,
      in: fc.constantFrom("path", "query", "header", "cookie", "body", "formData", "x"),
      required: fc.boolean(),
      style: fc.constantFrom("form", "deepObject", "label", "matrix", "pipeDelimited"),
      explode: fc.boolean(),
      collectionFormat: fc.constantFrom("csv", "multi"),
      type: fc.constantFrom("string", "array", "file"),
      schema,
    },
    { requiredKeys: ["name", "in"] },
  );
  const content = fc.dictionary(
    fc.constantFrom("application/json", "application/x-www-form-urlencoded", "text/xml", "*/*", "a/b+json"),
    fc.record({ schema }, { requiredKeys: [] }),
    { maxKeys: 2 },
  );
  const operation = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record(
        {
          operationId: name,
          summary: fc.string({ maxLength: 5 }),
          parameters: fc.array(parameter, { maxLength: 4 }),
          requestBody: fc.record({ content, required: fc.boolean() }, { requiredKeys: [] }),
          responses: fc.dictionary(
            fc.constantFrom("200", "201", "default"),
            fc.record({ content, schema }, { requiredKeys: [] }),
            { maxKeys: 2 },
          ),
          security: fc.array(fc.dictionary(fc.constantFrom("k", "t"), fc.constant([]), { maxKeys: 2 }), {
            maxLength: 2,
          }),
        },
        { requiredKeys: [] },
      ),
    },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
  const paths = fc.dictionary(
    fc.oneof(
      name.map((text) => `/${text}/{id}/\${id}`),
      name,
    ),
    fc.dictionary(
      fc.constantFrom("get", "post", "delete", "put", "options", "parameters", "$ref"),
      operation,
      { maxKeys: 3 },
    ),
    { maxKeys: 3 },
  );
  const description = fc.record({
    version: fc.constantFrom(
      { openapi: "3.0.0" },
      { openapi: "3.1.0" },
      { swagger: "2.0", host: "a.example" },
    ),
    paths,
    components: fc.record({
      schemas: fc.record({ A: schema }),
      securitySchemes: fc.constant({
        k: { type: "apiKey", in: "header", name: "X-K" },
        t: { type: "oauth2" },
      }),
    }),
  });

  it("gives a valid mcpfile, and never an exception", () => {
    fc.assert(
      fc.property(description, fc.boolean(), ({ version, ...rest }, yaml) => {
        const { openapi: _, ...head } = HEAD;
        const value = { ...version, ...head, ...rest };
        const text = yaml ? stringify(value, { aliasDuplicateObjects: false }) : JSON.stringify(value);
        const result = convertOpenApi(text, { file: yaml ? "f.yaml" : "f.json" });
        for (const { line, column } of result.skipped) expect(line > 0 && column > 0).toBe(true);
        expect(result.mcpfile === "").toBe(result.tools === 0);
        if (result.tools === 0) return;
        const read = parseMcpfile(result.mcpfile, "m.yaml");
        expect(read.diagnostics).toEqual([]);
        expect(read.servers[0]?.tools).toHaveLength(result.tools);
        expect(convertOpenApi(text, { file: yaml ? "f.yaml" : "f.json" })).toEqual(result);
      }),
      { numRuns: 300 },
    );
  });

  it("of any other value or text causes no exception", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((value) => json({ paths: value, components: value })),
        ),
        (text) => {
          expect(Array.isArray(convertOpenApi(text, { file: "f" }).diagnostics)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
