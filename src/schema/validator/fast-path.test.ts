// The fast path never says "valid" where the engine would not.

import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compileFastTest } from "./fast-path.ts";

const primitive = fc.oneof(
  fc.constantFrom("", "a", "ab", "😀", "😀😀"),
  fc.integer({ min: -3, max: 9 }),
  fc.constantFrom(0.5, -0),
  fc.boolean(),
  fc.constant(null),
);
const name = fc.constantFrom("a", "b", "c", "toString", "__proto__");
const record = <T>(value: fc.Arbitrary<T>, maxKeys = 3): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(name, value), { maxLength: maxKeys }).map((entries) => Object.fromEntries(entries));
const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const small = fc.integer({ min: 0, max: 3 });

function schemaOf(levels: number): fc.Arbitrary<Record<string, unknown>> {
  const below = levels === 0 ? fc.constant({}) : fc.oneof(schemaOf(levels - 1), fc.record({ type }));
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.array(primitive, { minLength: 1, maxLength: 5 }),
    const: primitive,
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: fc.integer({ min: 2, max: 9 }),
    minLength: small,
    maxLength: small,
    minItems: small,
    maxItems: small,
    items: below,
    anyOf: fc.array(below, { minLength: 1, maxLength: 3 }),
    properties: record(below),
    required: fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
    additionalProperties: fc.boolean(),
    description: fc.constant("words"),
    format: fc.constant("uuid"),
  };
  // A few at a time, so that some value can satisfy them all.
  return fc
    .subarray(Object.keys(keywords), { maxLength: 4 })
    .chain((names) =>
      fc.record(
        Object.fromEntries(names.map((keyword) => [keyword, keywords[keyword] ?? fc.constant(null)])),
      ),
    );
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, primitive, fc.array(tie("value"), { maxLength: 4 }), record(tie("value"))),
}));

test("the fast path accepts no random value that the engine refuses", () => {
  let answered = 0;
  fc.assert(
    fc.property(schemaOf(2), value, (random, given) => {
      const fast = compileFastTest(random);
      if (fast?.(given) !== true) return;
      answered += 1;
      // The engine asserts formats; the fast path does not.
      const plain = JSON.parse(JSON.stringify(random), (key, inner: unknown) =>
        key === "format" && inner === "uuid" ? undefined : inner,
      ) as object;
      expect(new Validator(plain, "2020-12", false).validate(given).errors).toEqual([]);
    }),
    { numRuns: 5000 },
  );
  expect(answered).toBeGreaterThan(200);
});

const tool = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: {
    path: { type: "string", description: "Where" },
    depth: { type: "integer", minimum: 1, maximum: 9, default: 1 },
    tags: { type: "array", items: { type: "string" } },
    sort: { enum: ["asc", "desc"] },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
  },
  required: ["path"],
  additionalProperties: false,
};

test("the fast path checks the arguments of a common tool", () => {
  const fast = compileFastTest(tool);
  expect(fast?.({ path: "a", depth: 3, tags: ["x"], sort: "asc", limit: null })).toBe(true);
  expect(fast?.({ path: "a", depth: undefined })).toBe(true);
  for (const bad of [
    {},
    { path: 1 },
    { path: "a", depth: 0 },
    { path: "a", extra: 1 },
    { path: "a", tags: [1] },
    [],
    null,
    "a",
  ]) {
    expect(fast?.(bad)).toBe(false);
  }
});

test("the fast path does not accept inherited fields", () => {
  class Inherits {
    get path(): string {
      return "a";
    }
  }
  expect(compileFastTest(tool)?.(new Inherits())).toBe(false);
  expect(compileFastTest({ properties: { constructor: {} }, required: ["constructor"] })).toBeUndefined();
  expect(compileFastTest({ type: "object" })?.(new Date())).toBe(false);
});

test("a schema with unknown or invalid keywords has no fast path", () => {
  for (const odd of [
    { pattern: "a" },
    { $ref: "#" },
    { type: "banana" },
    { enum: [] },
    { enum: [{}] },
    { not: {} },
    { properties: [] },
    { items: [{}] },
    true,
    null,
  ]) {
    expect(compileFastTest(odd)).toBeUndefined();
  }
});

test("the fast path does not accept a value that is too large to check fast", () => {
  const nested = {
    type: "array",
    items: { type: "array", items: { anyOf: Array.from({ length: 16 }, () => ({ type: "string" })) } },
  };
  expect(
    compileFastTest(nested)?.(Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, () => "x"))),
  ).toBe(false);
});
