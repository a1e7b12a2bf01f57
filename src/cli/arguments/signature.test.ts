// Signatures: the printer and the parser must agree, so they are tested together.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonSchema, ToolDefinition } from "../../model/index.ts";
import { looksLikeCall, parseCall } from "./signature-parse.ts";
import { printCall, printSignature, printType } from "./signature-print.ts";

const tool = (inputSchema: JsonSchema, rest: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: "echo",
  inputSchema,
  ...rest,
});

describe("printing of signatures", () => {
  test.each<[JsonSchema, string]>([
    [{ type: "string" }, "string"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ enum: ["a", "b", 3, null] }, '"a" | "b" | 3 | null'],
    [{ const: true }, "true"],
    [{ type: "array", items: { type: "string" } }, "string[]"],
    [{ type: "array", items: { enum: ["a", "b"] } }, '("a" | "b")[]'],
    [{ type: "array" }, "unknown[]"],
    [{ type: "object" }, "object"],
    [{ type: "object", additionalProperties: { type: "integer" } }, "Record<string, integer>"],
    [{ properties: { a: { type: "string" }, "b-c": {} }, required: ["a"] }, '{ a: string, "b-c"?: unknown }'],
    [{ anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] }, "string | number[]"],
    [{ $ref: "#/$defs/x", $defs: { x: { type: "boolean" } } }, "boolean"],
    [
      { allOf: [{ properties: { a: { type: "string" } } }, { properties: { b: {} } }] },
      "{ a?: string, b?: unknown }",
    ],
    [{ type: 5 }, "unknown"],
    [{}, "unknown"],
    [{ enum: [{ a: 1 }, { a: 2 }] }, "object"],
    [
      {
        properties: {
          a: { items: { properties: { b: { items: { type: "string" }, type: "array" } } }, type: "array" },
        },
      },
      "{ a?: { b?: string[] }[] }",
    ],
    [{ oneOf: [{ const: { a: 1 } }, { const: { a: 2 } }, { type: "object" }] }, "object"],
    [{ anyOf: [{ type: "object" }, { anyOf: [{ type: "null" }, { type: "object" }] }] }, "object | null"],
    [
      { enum: Array.from({ length: 12 }, (_, index) => `a value ${index}`) },
      `${[0, 1, 2, 3, 4, 5].map((index) => `"a value ${index}"`).join(" | ")} | unknown`,
    ],
  ])("prints the type %j as %s", (schema, expected) => {
    expect(printType(schema)).toBe(expected);
  });

  test("a signature keeps the order of the schema and marks optional parameters", () => {
    const printed = printSignature(
      tool({
        properties: { message: { type: "string" }, times: { type: "integer" } },
        required: ["message"],
      }),
    );
    expect(printed).toEqual({
      signature: "function echo(message: string, times?: integer): string",
      name: "echo",
      parameters: ["message: string", "times?: integer"],
      result: "string",
      hidden: [],
    });
  });

  test('optional parameters after the fifth are omitted, except with the option "all"', () => {
    const properties = Object.fromEntries(
      ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => [name, { type: "string" }]),
    );
    const printed = printSignature(tool({ properties, required: ["h"] }));
    expect(printed.hidden).toEqual(["f", "g"]);
    expect(printed.signature).toContain("e?: string, h: string)");
    expect(printSignature(tool({ properties, required: ["h"] }), { all: true }).hidden).toEqual([]);
  });

  test("the result type is the outputSchema", () => {
    expect(
      printSignature(tool({}, { outputSchema: { properties: { n: { type: "number" } }, required: ["n"] } }))
        .signature,
    ).toBe("function echo(): { n: number }");
  });

  test("names that are not identifiers are quoted, with control characters escaped", () => {
    const { signature } = printSignature(
      tool({ properties: { "a\u001b[31m": {}, "x: string) {": {} } }, { name: "evil\u202e()" }),
    );
    expect(signature).toBe(
      'function "evil\\u202e()"("a\\u001b[31m"?: unknown, "x: string) {"?: unknown): string',
    );
    expect(printSignature(tool({}, { name: "a/b.c-d" })).signature).toBe("function a/b.c-d(): string");
  });

  test('long types are shortened, except with the option "all"', () => {
    const schema: JsonSchema = {
      properties: Object.fromEntries(
        Array.from({ length: 12 }, (_, index) => [`property${index}`, { type: "string" }]),
      ),
    };
    expect(printType(schema)).toBe("object");
    expect(printType(schema, { all: true })).toContain("property11?: string");
  });

  test("hostile schemas are printed quickly", () => {
    const circle: JsonSchema = {
      properties: { self: { $ref: "#" }, again: { type: "array", items: { $ref: "#" } } },
    };
    const deep = Array.from({ length: 2_000 }).reduce<JsonSchema>(
      (inner) => ({ type: "array", items: inner }),
      { type: "string" },
    );
    const wide: JsonSchema = {
      $defs: { a: { anyOf: Array.from({ length: 60 }, () => ({ $ref: "#/$defs/a" })) } },
      $ref: "#/$defs/a",
    };
    const started = performance.now();
    for (const schema of [
      circle,
      deep,
      wide,
      { enum: Array.from({ length: 100_000 }, (_, index) => index) },
      { $ref: "#" },
    ]) {
      expect(printType(schema).length).toBeLessThanOrEqual(100);
      expect(printType(schema, { all: true }).length).toBeLessThanOrEqual(4_000);
    }
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

const read = (text: string): unknown => {
  const { name, positional, named, problems } = parseCall(text);
  return problems.length > 0 ? problems : { name, positional, named };
};
const call = (named: object, positional: unknown[] = []): object => ({ name: "t", positional, named });

describe("parseCall", () => {
  test.each<[string, object]>([
    ["t()", call({})],
    ["  function t ( ) : string", call({})],
    [
      "t(a: 1, b: 'x', c: [1,2,], d: { e: true, 'f g': null, },)",
      call({ a: 1, b: "x", c: [1, 2], d: { e: true, "f g": null } }),
    ],
    ["t(a = 1)", call({ a: 1 })],
    ["t(a?: 1);", call({ a: 1 })],
    ["t(1, -2.5e1, .5, 'x', y: 2)", call({ y: 2 }, [1, -25, 0.5, "x"])],
    ['t("a-b": "say \\"hi\\"\\n\\u0041\\x42\\u{1f600}")', call({ "a-b": 'say "hi"\nAB😀' })],
    ["t(a: 'it\\'s', b: \"it's, ok)\")", call({ a: "it's", b: "it's, ok)" })],
    ["t(a: undefined, b: 1)", call({ b: 1 })],
    ["t(\n  a: 1, // one\n  /* two, */ b: 2\n)", call({ a: 1, b: 2 })],
    [
      'function t(a: 1, b?: integer, c?: "x" | "y", d?: { e: string, f: (1 | 2)[] }): { n: number }',
      call({ a: 1 }),
    ],
    ["t(größe: 1)", call({ größe: 1 })],
  ])("parses %s", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  test("parses tool names with quotes, dashes and slashes", () => {
    expect(parseCall("get-user/v1.x(a: 1)").name).toBe("get-user/v1.x");
    expect(parseCall('"odd name()"(a: 1)').name).toBe("odd name()");
  });

  test.each<[string, RegExp[]]>([
    [
      "t(a: string, b: integer)",
      [/^a: put a value in place of the type string$/, /^b: put a value in place of the type integer$/],
    ],
    ["t(a: hello, b: 1)", [/^a: expected a value \(strings need quotes\) at character 6/]],
    ["t(a: `x`)", [/single or double quotes/]],
    ["t(a: 1", [/closing parenthesis/]],
    ["t(a: 'x", [/closing/]],
    ["t(a: 1, a: 2)", [/a is given twice/]],
    ["t(a: 1, 2)", [/without a name/]],
    ["t(a: {b: 1, b: 2})", [/another key than "b"/]],
    ["t(a: 1) b", [/expected the end of the call/]],
    ["t(a: 1e999)", [/JSON can represent/]],
    ["t(a: 5x)", [/comma/]],
    ["t(", [/where the call ends/]],
    ["1t()", [/a tool name/]],
  ])("reports the problems of %s", (text, expected) => {
    const { problems } = parseCall(text);
    expect(problems).toHaveLength(expected.length);
    expected.forEach((pattern, index) => expect(problems[index]).toMatch(pattern));
  });

  test("a plain name is not a call", () => {
    expect(looksLikeCall("echo")).toBe(false);
    expect(looksLikeCall("echo(a: 1)")).toBe(true);
    expect(looksLikeCall("function echo(")).toBe(true);
    expect(looksLikeCall('"odd name"(')).toBe(true);
  });

  test("reports deep nesting as a problem, without a stack overflow", () => {
    expect(parseCall(`t(a: ${"[".repeat(100_000)})`).problems.length).toBeGreaterThan(0);
  });

  test("never throws", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(..."t(),:={}[]'\"`\\?/*\n 1a-|<>;".split(""), "true", "string")),
        (parts) => {
          expect(parseCall(parts.join(""))).toHaveProperty("problems");
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("printCall, printSignature and parseCall", () => {
  const name = fc.string({ minLength: 1, unit: "binary" });
  const key = fc.oneof(name, fc.constantFrom("a", "b_c", "__proto__", "constructor", "true"));

  test("a printed call is parsed to the same name and arguments", () => {
    fc.assert(
      fc.property(name, fc.dictionary(key, fc.jsonValue({ maxDepth: 4 })), (toolName, args) => {
        const clean = JSON.parse(JSON.stringify(args)) as Record<string, unknown>;
        const parsed = parseCall(printCall(toolName, clean));
        expect(parsed.problems).toEqual([]);
        expect(parsed.name).toBe(toolName);
        expect(JSON.stringify(parsed.named)).toBe(JSON.stringify(clean));
      }),
      { numRuns: 1_000 },
    );
  });

  const schema = fc.letrec<{ any: JsonSchema }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<JsonSchema>(
        { type: "string" },
        { type: "integer" },
        { type: "array" },
        {},
        { type: "object" },
      ),
      fc.array(name, { minLength: 2, maxLength: 4 }).map((values): JsonSchema => ({ enum: values })),
      tie("any").map((items) => ({ type: "array", items })),
      fc
        .dictionary(key, tie("any"), { minKeys: 1, maxKeys: 3 })
        .map((properties) => ({ type: "object", properties })),
    ),
  })).any;

  test("a pasted signature keeps the tool name, and has a problem for each required parameter", () => {
    fc.assert(
      fc.property(
        name,
        fc.uniqueArray(key, { maxLength: 4 }),
        fc.array(fc.tuple(schema, fc.boolean()), { minLength: 4, maxLength: 4 }),
        (toolName, keys, parts) => {
          const properties = Object.fromEntries(keys.map((entry, index) => [entry, parts[index]?.[0] ?? {}]));
          const required = keys.filter((_, index) => parts[index]?.[1]);
          const { signature } = printSignature(tool({ properties, required }, { name: toolName }));
          const parsed = parseCall(signature);
          expect(parsed.name).toBe(toolName);
          expect(parsed.named).toEqual({});
          expect(parsed.problems).toHaveLength(required.length);
        },
      ),
      { numRuns: 500 },
    );
  });
});
