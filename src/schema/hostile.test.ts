// Hostile schemas and values: each check ends soon. Without limits, each of them takes many seconds.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type CheckResult, createValidator } from "./validator/validator.ts";

async function timed(schema: unknown, value: unknown, budgetMs: number): Promise<CheckResult["valid"]> {
  const validator = await createValidator(schema, { budgetMs });
  const start = performance.now();
  const { valid } = validator.check(value);
  expect(performance.now() - start).toBeLessThan(15_000);
  return valid;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const chain = (keyword: string, length: number): object => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(
    times(length, (index) => [
      `d${index}`,
      index === length - 1
        ? { type: "string" }
        : { [keyword]: times(2, () => ({ $ref: `#/$defs/d${index + 1}` })) },
    ]),
  ),
});
const bombText = `${"a".repeat(40)}!`;

test.each<[string, unknown, unknown, CheckResult["valid"]]>([
  ["a pattern that backtracks", { pattern: "^(a+)+$" }, bombText, false],
  ["the same on a long text", { pattern: "^(a+)+$" }, `${"a".repeat(1_000_000)}!`, false],
  ["a pattern with look-ahead", { pattern: "^(?=a)(a+)+$" }, bombText, "unknown"],
  ["a pattern with a back-reference", { pattern: "^(a+)+\\1$" }, bombText, "unknown"],
  ["a field name pattern", { patternProperties: { "^(a+)+$": {} } }, { [bombText]: 1 }, "unknown"],
  ["unique objects", { uniqueItems: true }, times(20_000, (index) => ({ index })), "unknown"],
  ["alternatives, doubled 30 times", chain("anyOf", 30), 5, "unknown"],
  ["2^21 nested allOf", chain("allOf", 22), 5, "unknown"],
  ["oneOf, doubled 30 times", chain("oneOf", 30), 5, "unknown"],
  ["itself", { $ref: "#" }, 5, "unknown"],
  ["itself twice", { anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 5, "unknown"],
  [
    "itself, doubled at every level of the value",
    { anyOf: times(2, () => ({ properties: { a: { $ref: "#" } }, required: ["z"] })) },
    JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`),
    "unknown",
  ],
  [
    "20 000 properties",
    { properties: Object.fromEntries(times(20_000, (index) => [`p${index}`, {}])) },
    {},
    "unknown",
  ],
  [
    "20 000 unknown fields",
    { additionalProperties: false },
    Object.fromEntries(times(20_000, (index) => [`p${index}`, 1])),
    false,
  ],
  [
    "3000-deep data",
    { $ref: "#/$defs/n", $defs: { n: { items: { $ref: "#/$defs/n" } } } },
    JSON.parse("[".repeat(3000) + "]".repeat(3000)),
    "unknown",
  ],
  ["200 000-deep data", { type: "object" }, JSON.parse("[".repeat(200_000) + "]".repeat(200_000)), "unknown"],
  [
    "5000 subschemas times 10 000 items",
    { items: { allOf: times(4000, () => ({ type: "number" })) } },
    times(10_000, () => 1),
    "unknown",
  ],
  [
    "a long enum and as many items",
    { items: { enum: times(20_000, (index) => `v${index}`) } },
    times(20_000, () => "x"),
    "unknown",
  ],
  [
    "a long constant that is quoted at every item",
    { items: { const: "x".repeat(200_000) } },
    times(20_000, () => 1),
    "unknown",
  ],
])("the check ends soon: %s", async (_, schema, value, expected) => {
  // The limit must not depend on how busy the machine is.
  expect(await timed(schema, value, expected === "unknown" ? 40 : 5000)).toBe(expected);
});

test("a pattern that takes too long to compile leaves the schema unchecked", async () => {
  const start = performance.now();
  const validator = await createValidator({ pattern: "(x{0,10}){0,100}".repeat(1000) });
  expect(performance.now() - start).toBeLessThan(15_000);
  expect(validator.check("x").valid).toBe("unknown");
});

test("a schema is not checked again after it exceeded its time budget three times", async () => {
  const validator = await createValidator({ pattern: "^(?=a)(a+)+$" });
  for (let run = 0; run < 3; run += 1)
    expect(validator.check(bombText)).toMatchObject({
      valid: "unknown",
      reason: expect.stringContaining("longer than"),
    });
  expect(validator.check("a")).toMatchObject({
    valid: "unknown",
    reason: expect.stringContaining("stopped checking"),
  });
});

test("an exceeded time budget does not affect the next check", async () => {
  const validator = await createValidator({
    properties: { a: { pattern: "^(?=a)(a+)+$" }, b: { pattern: "^b+$" } },
  });
  expect(validator.check({ a: bombText, b: "bbb" }).valid).toBe("unknown");
  expect(validator.check({ a: "aa", b: "bbb" }).valid).toBe(true);
  expect(validator.check({ a: "aa", b: "abb" }).valid).toBe(false);
});

test.each<[string, unknown, CheckResult["valid"]]>([
  ["true", true, true],
  ["false", false, false],
  ["{}", {}, true],
  ["null", null, "unknown"],
  ["an array", [], "unknown"],
  ["properties: []", { properties: [] }, "unknown"],
  ["properties: [] and nothing else allowed", { properties: [], additionalProperties: false }, "unknown"],
  ["type: banana", { type: "banana" }, "unknown"],
  ["type: []", { type: [] }, "unknown"],
  ["not of type banana", { not: { type: "banana" } }, "unknown"],
  ["required: true", { properties: { a: { required: true } } }, "unknown"],
  ["enum: []", { enum: [] }, "unknown"],
  ["anyOf: []", { anyOf: [] }, "unknown"],
  ["a property that is no schema", { properties: { a: "string" } }, "unknown"],
  ["a pattern that is none", { properties: { a: { pattern: "(" } } }, "unknown"],
  ["an id that is none", { $id: "http://[" }, true],
  [
    "the same id twice",
    { $ref: "#/$defs/a", $defs: { a: { $id: "x", type: "object" }, b: { $id: "x" } } },
    "unknown",
  ],
  ["a problem beside nonsense is a problem", { type: "string", required: true }, false],
  [
    "half a character as a name",
    { properties: { "\ud800": { type: "number" } }, minProperties: 1 },
    "unknown",
  ],
  ["keywords from the prototype", JSON.parse('{"__proto__":{"type":"string"}}'), true],
])("an invalid or unusual schema gives the expected result: %s", async (_, schema, expected) => {
  expect((await createValidator(schema, { budgetMs: 5000 })).check({ a: 1 }).valid).toBe(expected);
});

const keyword = fc.constantFrom(
  ..."$ref $id $anchor $schema $recursiveRef $dynamicRef type enum const required properties patternProperties additionalProperties items prefixItems anyOf allOf oneOf not if then minimum exclusiveMinimum minLength pattern format uniqueItems contains maxContains dependencies dependentRequired propertyNames unevaluatedProperties $defs definitions default __proto__ constructor a".split(
    " ",
  ),
);
const scrap = fc.constantFrom<unknown>(
  "#",
  "#/$defs/a",
  "#/properties/a",
  "http://x",
  "string",
  "object",
  "a",
  "(",
  "^a",
  true,
  false,
  null,
  0,
  1,
  -1,
  "",
  "http://json-schema.org/draft-04/schema#",
);
const { junk } = fc.letrec<{ junk: unknown }>((tie) => ({
  junk: fc.oneof(
    { maxDepth: 4 },
    scrap,
    fc.array(tie("junk"), { maxLength: 3 }),
    fc.array(fc.tuple(keyword, tie("junk")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

test("random schemas and values never cause an exception", async () => {
  await fc.assert(
    fc.asyncProperty(junk, junk, async (schema, value) => {
      const result = (await createValidator(schema)).check(value);
      if (result.valid === false) expect(result.problems.length).toBeGreaterThan(0);
      if (result.valid === "unknown") expect(result.reason).not.toBe("");
    }),
    { numRuns: 1500 },
  );
});
