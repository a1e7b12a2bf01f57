// Results of a check: dialects, references, odd schemas, and messages.

import { expect, test } from "vitest";
import { formatProblem } from "./problems.ts";
import { type CheckResult, createValidator } from "./validator.ts";

/** A budget that a busy test machine does not use up. */
async function check(schema: unknown, value: unknown): Promise<CheckResult> {
  return (await createValidator(schema, { budgetMs: 5000 })).check(value);
}

async function lines(schema: unknown, value: unknown): Promise<string[]> {
  const result = await check(schema, value);
  return result.valid === false ? result.problems.map(formatProblem) : [String(result.valid)];
}

const draft = (id: string, schema: object): object => ({
  $schema: `http://json-schema.org/${id}/schema#`,
  ...schema,
});

test.each([
  [
    "2020-12 by default",
    { prefixItems: [{ type: "string" }], items: { type: "number" } },
    ["a", 1],
    ["a", "b"],
  ],
  [
    "2020-12 by name",
    { $schema: "https://json-schema.org/draft/2020-12/schema", dependentRequired: { a: ["b"] } },
    { a: 1, b: 1 },
    { a: 1 },
  ],
  [
    "2019-09",
    {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      $recursiveAnchor: true,
      properties: { next: { $recursiveRef: "#" }, n: { type: "number" } },
    },
    { next: { n: 1 } },
    { next: { n: "x" } },
  ],
  [
    "draft-07",
    draft("draft-07", { if: { required: ["a"] }, then: { required: ["b"] } }),
    { a: 1, b: 1 },
    { a: 1 },
  ],
  [
    "draft-07 tuples",
    draft("draft-07", { items: [{ type: "string" }], additionalItems: false }),
    ["a"],
    ["a", 1],
  ],
  ["draft-06", draft("draft-06", { exclusiveMinimum: 3 }), 4, 3],
  ["draft-04", draft("draft-04", { minimum: 3, exclusiveMinimum: true }), 4, 3],
  [
    "draft-04 ids",
    draft("draft-04", {
      id: "http://x.test/root",
      properties: { a: { $ref: "#/definitions/n" } },
      definitions: { n: { type: "number" } },
    }),
    { a: 1 },
    { a: "x" },
  ],
  ["draft-04 style without $schema", { minimum: 3, exclusiveMinimum: true }, 4, 3],
  [
    "an unknown dialect",
    { $schema: "https://example.com/mine", dependentRequired: { a: ["b"] } },
    { b: 1 },
    { a: 1 },
  ],
])("a validator checks by the rules of the dialect: %s", async (_, schema, good, bad) => {
  expect(await check(schema, good)).toEqual({ valid: true });
  expect((await check(schema, bad)).valid).toBe(false);
});

test("in draft-07 a $ref disables the keywords beside it, in 2020-12 it does not", async () => {
  const schema = {
    properties: { a: { $ref: "#/definitions/any", type: "string" } },
    definitions: { any: {} },
  };
  expect((await check(draft("draft-07", schema), { a: 1 })).valid).toBe(true);
  expect((await check(schema, { a: 1 })).valid).toBe(false);
});

test.each([
  ["#/$defs/n", { $defs: { n: { type: "number" } } }],
  ["#/definitions/n", { definitions: { n: { type: "number" } } }],
  ["#/components/schemas/n", { components: { schemas: { n: { type: "number" } } } }],
  ["#n", { $defs: { x: { $anchor: "n", type: "number" } } }],
  ["http://x.test/n", { $defs: { x: { $id: "http://x.test/n", type: "number" } } }],
  ["#/$defs/a~1b%20c", { $defs: { "a/b c": { type: "number" } } }],
])("a local reference to %s is followed", async ($ref, definitions) => {
  expect(await check({ properties: { a: { $ref } }, ...definitions }, { a: 1 })).toEqual({ valid: true });
  expect(await lines({ properties: { a: { $ref } }, ...definitions }, { a: "x" })).toEqual([
    '/a: must be a number, got "x"',
  ]);
});

test("an unresolved $ref is never fetched, and matters only if the value needs it", async () => {
  const schema = { properties: { a: { $ref: "http://127.0.0.1:9/x.json" }, b: { type: "string" } } };
  expect(await check(schema, { a: 1 })).toEqual({
    valid: "unknown",
    reason: expect.stringContaining('Unresolved $ref "http://127.0.0.1:9/x.json"'),
  });
  expect(await check(schema, { b: "x" })).toEqual({ valid: true });
  expect((await check({ $dynamicRef: "#x" }, 1)).valid).toBe("unknown");
});

const tool = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1 },
    depth: { type: "integer", minimum: 1 },
    sort: { enum: ["asc", "desc"] },
  },
  required: ["path"],
  additionalProperties: false,
};

test.each<[string, unknown, unknown, string[]]>([
  ["missing", tool, {}, ["/path: is required"]],
  [
    "missing, misspelt",
    { ...tool, additionalProperties: undefined },
    { pth: "a", zzz: 1 },
    ['/path: is required (the unknown field "pth" is similar)'],
  ],
  [
    "missing, misspelt, reported as unknown",
    tool,
    { pth: "a" },
    ["/path: is required", 'unknown field "pth" (did you mean "path"?)'],
  ],
  ["type", tool, { path: "a", depth: "x" }, ['/depth: must be an integer, got "x"']],
  ["unknown field", tool, { path: "a", dpth: 1 }, ['unknown field "dpth" (did you mean "depth"?)']],
  [
    "unknown field, nested",
    { properties: { o: tool } },
    { o: { path: "a", zzz: 1 } },
    ['/o: unknown field "zzz"'],
  ],
  [
    "enum",
    tool,
    { path: "a", sort: "acs" },
    ['/sort: must be "asc" or "desc", got "acs" (did you mean "asc"?)'],
  ],
  [
    "all at once",
    tool,
    { depth: 0, sort: 1 },
    ["/path: is required", "/depth: must be at least 1, got 0", '/sort: must be "asc" or "desc", got 1'],
  ],
  ["the whole value", tool, [], ["must be an object, got an array"]],
  [
    "lengths",
    { maxItems: 1, items: { maxLength: 2 } },
    ["abc", "a"],
    ["must have at most 1 item", "/0: must have at most 2 characters"],
  ],
  ["a length of one", { minLength: 1 }, "", ['must have at least 1 character, got ""']],
  ["two items", { minItems: 2 }, [], ["must have at least 2 items"]],
  ["pattern", { pattern: "^a+$" }, "b", ['must match the pattern "^a+$", got string "b"']],
  [
    "nullable",
    { properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } },
    { a: 5 },
    ["/a: must be a string or null, got 5"],
  ],
  [
    "names to escape",
    { properties: { "a/b~c d": { type: "string" } } },
    { "a/b~c d": 1 },
    ["/a~1b~0c d: must be a string, got 1"],
  ],
  ["not", { not: { type: "string" } }, "x", ['must not match the schema under "not"']],
  [
    "propertyNames",
    { propertyNames: { maxLength: 1 } },
    { ab: 1 },
    ['field name not allowed: Property name "ab" does not match schema.'],
  ],
  [
    "oneOf, two fit",
    { oneOf: [{ type: "number" }, { minimum: 1 }, { type: "string" }] },
    5,
    ["matches more than one of the alternatives, but must match exactly one"],
  ],
  ["false", { properties: { a: false } }, { a: 1 }, ["/a: is not allowed here"]],
  [
    "a field named __proto__",
    JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
    JSON.parse('{"__proto__":1}'),
    ["/__proto__: must be a string, got 1"],
  ],
  [
    "__proto__ as a stranger",
    { additionalProperties: false },
    JSON.parse('{"__proto__":1}'),
    ['unknown field "__proto__"'],
  ],
  ["control characters", { enum: ["a"] }, "\u202e\u001b[31m", ['must be "a", got "\\u202e\\u001b[31m"']],
])("the message says what is wrong: %s", async (_, schema, value, expected) => {
  expect(await lines(schema, value)).toEqual(expected);
});

test("a message about anyOf describes the alternative that the value most likely means", async () => {
  const shape = (kind: string, field: string): object => ({
    type: "object",
    properties: { kind: { const: kind }, [field]: { type: "number" } },
    required: ["kind", field],
  });
  const schema = { anyOf: [shape("circle", "radius"), shape("square", "side"), { type: "null" }] };
  expect(await lines(schema, { kind: "square" })).toEqual(["/side: is required"]);
  expect(await lines(schema, { kind: "blob", side: 1 })).toEqual([
    '/kind: must be "circle" or "square", got "blob"',
  ]);
  expect(await lines(schema, 5)).toEqual(["must be an object or null, got 5"]);
});

test("the list of problems is limited, without repetitions and with short messages", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`k${index}`, "v".repeat(10_000)]),
  );
  const result = await check({ additionalProperties: { type: "number" } }, many);
  if (result.valid !== false) expect.fail("should be invalid");
  expect(result.problems).toHaveLength(20);
  for (const { message } of result.problems) expect(message.length).toBeLessThan(120);
  expect(await lines({ allOf: [{ type: "string" }, { type: "string" }] }, 1)).toEqual([
    "must be a string, got 1",
  ]);
  expect(
    (await lines({ const: "x".repeat(10_000) }, { ["k".repeat(10_000)]: 1 })).join().length,
  ).toBeLessThan(200);
});

test("format is an annotation that is not checked", async () => {
  for (const format of ["uuid", "date-time", "no-such-format", "portolan:pattern:0"]) {
    expect(await check({ type: "string", format, pattern: "^x" }, "x")).toEqual({ valid: true });
  }
});

test("keywords are rewritten for the engine; property names and data are not", async () => {
  const schema = { properties: { pattern: { const: { pattern: "(", format: "x" } } }, required: ["pattern"] };
  expect(await check(schema, { pattern: { pattern: "(", format: "x" } })).toEqual({ valid: true });
  expect((await check(schema, { pattern: { pattern: ")" } })).valid).toBe(false);
  const before = JSON.stringify(schema);
  expect(JSON.stringify(schema)).toBe(before);
});

test("two validators do not share their patterns", async () => {
  const [a, b] = [await createValidator({ pattern: "^a$" }), await createValidator({ pattern: "^b$" })];
  expect([a.check("a").valid, b.check("a").valid, a.check("b").valid, b.check("b").valid]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test("a value that JSON cannot represent is checked in its JSON form", async () => {
  expect(
    await check(
      { properties: { a: { type: "string" } }, additionalProperties: false },
      { a: "x", b: undefined },
    ),
  ).toEqual({ valid: true });
  expect(await lines({ properties: { a: { type: "string" } }, required: ["a"] }, { a: undefined })).toEqual([
    "/a: is required",
  ]);
  expect(await check({ properties: { at: { type: "string" } } }, { at: new Date(0) })).toEqual({
    valid: true,
  });
  for (const odd of [undefined, 1n, () => 1])
    expect(await lines({ type: "object" }, odd)).toEqual(["is not a JSON value"]);
});
