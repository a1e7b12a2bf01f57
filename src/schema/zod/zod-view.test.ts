// The Zod view: always an object, never stricter than the schema, never slow.

import * as z from "zod";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { toZodView } from "./zod-view.ts";

function view(schema: unknown): { zod: z.ZodType; reports: Diagnostic[]; accepts(value: unknown): boolean } {
  const reports: Diagnostic[] = [];
  const zod = toZodView(schema, z, (diagnostic) => reports.push(diagnostic));
  expect(zod).toBeInstanceOf(z.ZodObject);
  return { zod, reports, accepts: (value) => zod.safeParse(value).success };
}

test("the view has the fields of the schema, and accepts unknown fields", () => {
  const { zod, reports } = view({
    type: "object",
    properties: { a: { type: "string" }, n: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  });
  expect(zod.parse({ a: "x", more: 1 })).toEqual({ a: "x", more: 1 });
  expect(zod.safeParse({ n: 1 }).success).toBe(false);
  expect(zod.safeParse({ a: "x", n: "y" }).success).toBe(false);
  expect(reports).toEqual([]);
});

test("keywords that Zod does not check stay in the JSON Schema that is made from the view", () => {
  const { zod } = view({
    properties: {
      u: { type: "string", format: "uri-reference", description: "Where" },
      r: { type: "object", readOnly: true },
    },
    additionalProperties: false,
  });
  expect(z.toJSONSchema(zod)).toMatchObject({
    additionalProperties: false,
    properties: {
      u: { type: "string", format: "uri-reference", description: "Where" },
      r: { readOnly: true },
    },
  });
});

test("a copy of Zod with another registry makes the same JSON Schema of each field", () => {
  const properties = {
    text: { type: "string", format: "uri", description: "A text" },
    number: { type: "number", default: 3, description: "A number" },
    list: { type: "array", items: { type: "string", description: "An item" }, description: "A list" },
    object: { type: "object", properties: { x: { type: "string", description: "Inside" } } },
  };
  const { zod } = view({ type: "object", properties, required: ["text"] });
  // A framework clones the object and its lists before it converts them.
  const list = (zod as z.ZodObject).shape["list"] as z.ZodOptional<z.ZodArray>;
  const shape = { ...(zod as z.ZodObject).shape, list: z.clone(list, { ...list.def }) };
  for (const form of [zod, z.clone(zod as z.ZodObject, { ...(zod as z.ZodObject).def, shape })]) {
    const made = z.toJSONSchema(form, { io: "input", metadata: z.registry() });
    expect(made).toMatchObject({ properties, required: ["text"] });
  }
  expect(zod.parse({ text: "x" })).toEqual({ text: "x", number: 3 });
});

describe("the view is never stricter than the schema", () => {
  test.each<[string, object, unknown]>([
    ["formats", { type: "string", format: "uri-reference" }, "/relative"],
    ["uuids of no version", { type: "string", format: "uuid" }, "12345678-1234-1234-1234-123456789012"],
    [
      "oneOf told apart by additionalProperties",
      {
        oneOf: ["a", "b"].map((name) => ({
          type: "object",
          properties: { [name]: {} },
          additionalProperties: false,
        })),
      },
      { a: 1 },
    ],
    ["enum of objects", { enum: [{ a: 1 }, "x"] }, { a: 1 }],
    ["const of an array", { const: [1] }, [1]],
    ["enum: []", { enum: [] }, "anything"],
    ["anyOf: []", { anyOf: [] }, 1],
    ["type: banana", { type: "banana" }, 1],
    ["type: []", { type: [] }, 1],
    ["a pattern with flag u", { type: "string", pattern: "^\\p{L}$" }, "é"],
  ])("%s", (_, schema, value) => {
    expect(view({ type: "object", properties: { a: schema }, required: ["a"] }).accepts({ a: value })).toBe(
      true,
    );
  });
});

test("a default is filled in only where it fits the schema", () => {
  const { zod } = view({
    properties: {
      n: { type: "integer", default: 3 },
      s: { type: "string", default: null },
      u: {
        anyOf: [{ type: "object", properties: { d: { type: "number", default: 1 } } }, { type: "object" }],
      },
    },
  });
  expect(zod.parse({ u: {} })).toEqual({ n: 3, u: {} });
  const given = Object.freeze({ r: { deep: {} } });
  view({ properties: { r: { readOnly: true } } }).zod.parse(given);
  expect(Object.isFrozen(given.r)).toBe(false);
});

test("an unsafe pattern is left out and reported, a safe one stays", () => {
  const { reports, accepts } = view({
    type: "object",
    properties: {
      bad: { type: "string", pattern: "^(a+)+$" },
      good: { type: "string", pattern: "^[a-z]+$" },
    },
  });
  expect(reports).toEqual([
    {
      code: "SCHEMA_UNSUPPORTED",
      severity: "warning",
      message: expect.stringMatching(
        /does not contain \/properties\/bad\/pattern of inputSchema: .*unbounded/,
      ),
      path: "/properties/bad/pattern",
    },
  ]);
  expect(accepts({ bad: `${"a".repeat(50)}!` })).toBe(true);
  expect(accepts({ good: "A" })).toBe(false);
  const names = view({
    type: "object",
    properties: { o: { type: "object", patternProperties: { "^(a+)+$": { type: "string" } } } },
  });
  expect(names.accepts({ o: { [`${"a".repeat(50)}!`]: 1 } })).toBe(true);
  expect(names.reports).toHaveLength(1);
});

test.each<[string, unknown]>([
  ["null", null],
  ["an array as root", { type: "array" }],
  ["a text as root", { type: "string" }],
  ["false", false],
  ["too deep", JSON.parse(`${'{"not":'.repeat(200)}{}${"}".repeat(200)}`)],
  [
    "too many parts",
    {
      properties: Object.fromEntries(
        Array.from({ length: 1500 }, (_, index) => [`p${index}`, { items: {} }]),
      ),
    },
  ],
  ["a root that refers to itself", { $ref: "#" }],
  ["a root that refers outside", { $ref: "http://127.0.0.1:9/" }],
  ["a field that refers outside", { properties: { a: { $ref: "http://127.0.0.1:9/" } } }],
  ["an enum as root", { enum: ["a", "b"] }],
])("the view accepts any object if it cannot show the schema: %s", (_, schema) => {
  const { reports, accepts } = view(schema);
  expect(reports.length).toBeGreaterThan(0);
  expect(accepts({ anything: [1] })).toBe(true);
  expect(accepts("text")).toBe(false);
});

test("the view keeps the fields if it cannot show only another part of the schema", () => {
  for (const odd of [
    { not: { required: ["b"] } },
    { if: {}, then: {} },
    { dependentRequired: { a: ["b"] } },
    { anyOf: [{ required: ["b"] }] },
    { minProperties: 2 },
  ]) {
    const { reports, accepts } = view({ type: "object", properties: { a: { type: "string" } }, ...odd });
    expect(reports.length).toBeGreaterThan(0);
    expect([accepts({ a: "x" }), accepts({ a: 1 })]).toEqual([true, false]);
  }
});

test("the view follows references that are cheap to check, also recursive ones", () => {
  const tree = {
    properties: { root: { $ref: "#/definitions/node" } },
    definitions: {
      node: {
        type: "object",
        properties: {
          n: { type: "number" },
          next: { anyOf: [{ $ref: "#/definitions/node" }, { type: "null" }] },
        },
      },
    },
  };
  const { reports, accepts } = view(tree);
  expect(reports).toEqual([]);
  expect([
    accepts({ root: { next: { next: { n: 1 } } } }),
    accepts({ root: { next: { next: { n: "x" } } } }),
  ]).toEqual([true, false]);
  expect(
    view({
      $ref: "#/$defs/a",
      $defs: { a: { type: "object", properties: { n: { type: "number" } } } },
    }).accepts({ n: "x" }),
  ).toBe(false);
});

test("the view leaves out references that would take unbounded time", () => {
  const doubled = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `d${i}`,
      i === 39
        ? { type: "string" }
        : { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]),
  );
  const first = view({ properties: { a: { $ref: "#/$defs/d0" } }, $defs: doubled });
  expect(first.accepts({ a: 5 })).toBe(true);
  const forked = view({
    properties: { a: { $ref: "#/$defs/f" } },
    $defs: {
      f: {
        anyOf: Array.from({ length: 2 }, () => ({
          type: "object",
          properties: { a: { $ref: "#/$defs/f" } },
          required: ["z"],
        })),
      },
    },
  });
  expect(forked.accepts(JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`))).toBe(true);
  const endless = view({
    properties: { a: { $ref: "#/$defs/e" } },
    $defs: { e: { anyOf: [{ $ref: "#/$defs/e" }] } },
  });
  expect(endless.accepts({ a: 1 })).toBe(true);
  const types = JSON.parse(
    `${'{"type":["object","array"],"properties":{"a":'.repeat(30)}{}${"}}".repeat(30)}`,
  ) as object;
  expect(view({ properties: { a: types } }).accepts({ a: 1 })).toBe(true);
  for (const { reports } of [first, forked, endless]) expect(reports.length).toBeGreaterThan(0);
});

test("a field named __proto__ changes no prototype", () => {
  const { zod, accepts } = view(
    JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"object"},"a":{"type":"string"}},"required":["__proto__","a"],"__proto__":{"x":1}}',
    ),
  );
  expect(accepts({ a: "x" })).toBe(true);
  expect(Object.getPrototypeOf(zod.parse(JSON.parse('{"__proto__":{"polluted":1},"a":"x"}')))).toBe(
    Object.prototype,
  );
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test("the id of a schema does not enter Zod's registry", () => {
  for (let copy = 0; copy < 2; copy += 1) {
    const { zod } = view({
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "same",
      properties: { a: { id: "same", type: "string" } },
    });
    expect(z.toJSONSchema(zod)).not.toHaveProperty("id");
  }
});
