// Limits of schemas and values. The measurement itself survives a hostile schema.

import { expect, test } from "vitest";
import { boundSchema, INSTANCE_LIMITS, measureInstance, SCHEMA_LIMITS } from "./bounds.ts";

function nest(levels: number, wrap: (inner: unknown) => unknown, core: unknown = {}): unknown {
  let value = core;
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

const reasonOf = (schema: unknown): string => {
  const bounds = boundSchema(schema);
  return bounds.ok ? "ok" : bounds.reason;
};

test("a schema whose property names are keywords is accepted", () => {
  const schema = {
    type: "object",
    properties: { pattern: { type: "string" }, $ref: { type: "string" }, uniqueItems: {} },
  };
  const bounds = boundSchema(schema);
  expect(bounds).toMatchObject({
    ok: true,
    facts: { subschemas: 4, refs: "none", tame: true, patterns: [] },
  });
});

test("a schema that is nested too deeply is refused", () => {
  const deep = (levels: number): unknown => nest(levels, (inner) => ({ properties: { a: inner } }));
  expect(reasonOf(deep(SCHEMA_LIMITS.depth - 1))).toBe("ok");
  expect(reasonOf(deep(SCHEMA_LIMITS.depth))).toMatch(/nested more than 64 deep/);
  expect(reasonOf({ default: nest(100, (inner) => [inner]) })).toMatch(/deep/);
});

test("size, subschemas and properties are limited", () => {
  expect(reasonOf({ description: "x".repeat(SCHEMA_LIMITS.bytes) })).toMatch(/256 KiB/);
  expect(reasonOf({ enum: Array.from({ length: 200_000 }, () => 1) })).toMatch(/256 KiB/);
  expect(reasonOf({ anyOf: Array.from({ length: 5001 }, () => ({})) })).toMatch(/5000 subschemas/);
  const many = Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`p${index}`, true]));
  expect(reasonOf({ properties: many })).toMatch(/2000 properties/);
});

test("200 000 levels and a million entries are refused without a stack overflow", () => {
  const arrays = JSON.parse("[".repeat(200_000) + "]".repeat(200_000)) as unknown;
  expect(reasonOf({ default: arrays })).toMatch(/deep/);
  expect(reasonOf(nest(200_000, (inner) => ({ not: inner })))).toMatch(/deep/);
  expect(measureInstance(arrays)).toMatchObject({ ok: false, reason: expect.stringMatching(/128 deep/) });
  expect(measureInstance(Array.from({ length: 1_000_000 }, () => 0))).toMatchObject({ ok: false });
});

test("a value that is not a schema is reported as such", () => {
  for (const odd of [null, undefined, 5, "x", []]) expect(reasonOf(odd)).toMatch(/not a JSON Schema/);
  expect(reasonOf(false)).toBe("ok");
});

test.each([
  [{ $ref: "#" }, false],
  [{ items: { $dynamicRef: "#x" } }, false],
  [{ $recursiveRef: "#" }, false],
  [{ uniqueItems: true }, false],
  [{ uniqueItems: false }, true],
  [{ patternProperties: { a: {} } }, false],
  [{ pattern: "a" }, true],
  [{ const: { $ref: "#", uniqueItems: true, pattern: "(?=a)" } }, true],
  [{ properties: { $ref: { const: 1 } } }, true],
])("boundSchema() marks %j as tame: %s", (schema, tame) => {
  expect(boundSchema(schema)).toMatchObject({
    ok: true,
    facts: { tame },
  });
});

test("measureInstance() returns the size and depth of a value, and whether it is plain JSON", () => {
  expect(measureInstance({ a: ["xyz", { b: null }], cdefg: 1 })).toMatchObject({
    ok: true,
    nodes: 6,
    depth: 3,
    longest: 5,
    plain: true,
  });
  expect(measureInstance(nest(INSTANCE_LIMITS.depth, (inner) => [inner], 1))).toMatchObject({
    ok: true,
    depth: 128,
  });
  expect(measureInstance(nest(INSTANCE_LIMITS.depth + 1, (inner) => [inner], 1))).toMatchObject({
    ok: false,
  });
  for (const odd of [{ a: undefined }, [Number.NaN], new Date(0), new Map(), 1n, { toJSON: () => 1 }]) {
    expect(measureInstance(odd)).toMatchObject({ ok: true, plain: false });
  }
});
