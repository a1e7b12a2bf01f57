// Comparison of two schemas: only certain differences are reported.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonPath } from "../../model/index.ts";
import { compareSchemas, type Demand, describeView } from "./compare.ts";
import { declaredPaths, viewAtPath } from "./paths.ts";
import { fieldOf, type SchemaView, typesOf, viewSchema } from "./view.ts";
import { createValidator } from "../validator/validator.ts";

function view(schema: unknown): SchemaView {
  const found = viewSchema(schema);
  if (found === undefined) throw new Error("out of bounds");
  return found;
}

function compare(given: unknown, taken: unknown, demand: Demand = "all"): string[] {
  return compareSchemas(view(given), view(taken), demand).map(
    ({ path, severity, message }) => `${severity} ${path.join(".")}: ${message}`,
  );
}

const text = { type: "string" };
const closed = (properties: object, required: string[] = []): object => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

describe("compareSchemas() reports a value that is certainly refused", () => {
  test.each<[string, unknown, unknown, string]>([
    ["types", text, { type: "number" }, "string where number is expected"],
    ["integers", { type: "integer" }, { type: "boolean" }, "integer where boolean is expected"],
    ["consts", { const: "a" }, { enum: ["b", "c"] }, '"a" where "b" or "c" is expected'],
    ["values of another type", { enum: [1, 2] }, text, "1 or 2 where string is expected"],
    [
      "references",
      { $ref: "#/$defs/t", $defs: { t: text } },
      { type: "array" },
      "string where array is expected",
    ],
    ["alternatives", { anyOf: [text, { type: "null" }] }, { type: "number" }, "string or null where number"],
    ["all parts", { allOf: [{}, text] }, { type: "object" }, "string where object is expected"],
    ["unknown fields", closed({ a: text }), closed({ aa: text }), 'the field "a" is not accepted'],
    [
      "fields that may be missing",
      closed({ a: text }),
      { type: "object", properties: { a: text }, required: ["a"] },
      "can be missing",
    ],
    [
      "fields of fields",
      closed({ a: closed({ b: text }) }),
      closed({ a: closed({ b: { type: "null" } }) }),
      "error a.b: string where null is expected",
    ],
    [
      "entries",
      { type: "array", items: text },
      { type: "array", items: { type: "number" } },
      "error []: string",
    ],
  ])("%s", (_, given, taken, message) => {
    expect(compare(given, taken).join("\n")).toContain(message);
  });
});

describe("compareSchemas() reports nothing for", () => {
  test.each<[string, unknown, unknown]>([
    ["anything", {}, text],
    ["whole numbers where numbers are taken", { type: "integer" }, { type: "number" }],
    ["numbers where whole ones are taken", { type: "number" }, { type: "integer" }],
    ["one of several types", text, { type: ["string", "null"] }],
    ["an anchor", { $ref: "#somewhere" }, { type: "number" }],
    [
      "a schema with ids inside",
      { $ref: "#/$defs/t", $defs: { t: { $id: "x", type: "string" } } },
      { type: "number" },
    ],
    [
      "a field that a pattern may take",
      closed({ a: text }),
      { type: "object", patternProperties: { "^a": {} }, additionalProperties: false },
    ],
    [
      "unevaluated fields that a part looks at",
      closed({ a: text }),
      { allOf: [{ properties: { a: text } }], unevaluatedProperties: false },
    ],
    [
      "keywords beside a $ref of draft-07",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        $ref: "#/definitions/n",
        type: "string",
        definitions: { n: { type: "number" } },
      },
      { type: "number" },
    ],
  ])("%s", (_, given, taken) => {
    expect(compare(given, taken)).toEqual([]);
  });
});

test("a schema that fits only in part gives a warning that names the rest", () => {
  expect(compare({ enum: ["a", "b"] }, { enum: ["a", "c"] })).toEqual([
    'warning : can be "b", but only "a" or "c" is accepted',
  ]);
  expect(compare({ type: ["string", "null"] }, text)).toEqual([
    "warning : can be null, but only string is accepted",
  ]);
  expect(compare({ type: ["string", "null"] }, text, "some")).toEqual([]);
});

test("a result gives an error only if it can never fit the wanted schema", () => {
  const wanted = closed({ id: text }, ["id"]);
  expect(compare({ type: "object", properties: { id: text } }, wanted, "some")).toEqual([]);
  expect(compare(closed({ ID: text }), wanted, "some").join()).toContain(
    '"id" is required and never given (did you mean "ID"?)',
  );
  expect(
    compare(
      { type: "object", properties: { id: text, more: text }, required: ["more"] },
      wanted,
      "some",
    ).join(),
  ).toContain('"more" is not accepted');
});

test("a result that declares other fields gives a warning; one that declares no fields does not", () => {
  const wanted = { type: "object", properties: { id: text }, required: ["id"] };
  expect(compare({ type: "object", properties: { ID: text } }, wanted, "some")).toEqual([
    'warning : the field "id" is required, but not declared (did you mean "ID"?)',
  ]);
  expect(compare({ type: "object" }, wanted, "some")).toEqual([]);
});

test("declaredPaths() lists the nearest paths first, follows lists, and returns at most 100", () => {
  const id = { type: "integer" };
  const item = { type: "object", properties: { id, tags: { type: "array", items: text } } };
  const tree: object = { type: "object", properties: { a: { $ref: "#" }, b: { $ref: "#" }, "c d": text } };
  const paths = (schema: object): string[] => declaredPaths(view(schema)).map((one) => one.text);
  const whole = {
    type: "object",
    properties: {
      name: text,
      items: { type: "array", items: item },
      rows: { type: "array", items: { type: "array", items: item } },
    },
    required: ["items"],
  };
  expect(paths(whole)).toEqual([
    ...["$", "$.name", "$.items", "$.rows"],
    ...["$.items[*].id", "$.items[*].tags", "$.rows[*][*].id", "$.rows[*][*].tags"],
  ]);
  const found = declaredPaths(view(whole));
  expect(found.filter(({ certain }) => certain).map((one) => one.text)).toEqual(
    expect.arrayContaining(["$", "$.items", "$.items[*].id"]),
  );
  expect(describeView(found[4]?.view as never)).toBe("array of number");
  expect(paths(tree)).toHaveLength(1 + 2 + 4 + 8);
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, { $ref: "#" }]));
  expect(paths({ type: "object", properties: wide })).toHaveLength(100);
});

describe("viewAtPath() resolves", () => {
  const schema = closed({
    items: { type: "array", items: closed({ id: { type: "integer" } }) },
    name: text,
    open: {},
  });
  const at = (path: string): string => {
    const parsed = parseJsonPath(path);
    const found = parsed.ok ? viewAtPath(view(schema), parsed.path) : undefined;
    return found === undefined ? "" : found.ok ? describeView(found.view) : found.message;
  };
  test.each([
    ["$.name", "string"],
    ["$.items[0].id", "integer"],
    ["$.items[*].id", "array of number"],
    ["$.items[?(@.id=='1')]", "array of object"],
    ["$.open.anything[0]", "any value"],
    ["$.nam", '$ has no field "nam" (did you mean "name"?)'],
    ["$.name.x", "$.name is string, which has no fields"],
    ["$.name[0]", "$.name is string, which has no entries"],
    ["$.items[*].no", '$.items[*] has no field "no" (there are "id")'],
  ])("%s", (path, expected) => {
    expect(at(path)).toBe(expected);
  });
});

test("a schema that refers to itself without end is compared in bounded time", () => {
  const node = { $ref: "#/$defs/a" };
  const loop = { $defs: { a: { anyOf: [node, node, node], allOf: [node, node] } }, ...node };
  const started = performance.now();
  expect(typesOf(view(loop)).size).toBe(6);
  expect(fieldOf(view(loop), "x").state).toBe("open");
  expect(compare(loop, loop)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(15_000);
});

test("viewSchema() returns undefined for a schema that is too large or invalid", () => {
  expect(
    viewSchema({ enum: Array.from({ length: 200_000 }, (_, index) => `value ${index}`) }),
  ).toBeUndefined();
  expect(viewSchema("no schema")).toBeUndefined();
});

const leaf = fc.constantFrom<object>(
  { type: "string" },
  { type: "integer" },
  { type: ["number", "null"] },
  { enum: ["a", 1, null] },
  { const: true },
  {},
);
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
      required: fc.subarray(["a", "b"]),
      additionalProperties: fc.boolean(),
    }),
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
  ),
}));
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>("a", "b", 1, 1.5, null, true, [], {}),
    fc.array(tie("any"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("any"), { maxKeys: 2 }),
  ),
})).any;

test("a value that both schemas accept is never reported as impossible", async () => {
  await fc.assert(
    fc.asyncProperty(schema, schema, value, async (given, taken, sample) => {
      const [left, right] = await Promise.all([createValidator(given), createValidator(taken)]);
      fc.pre(left.check(sample).valid === true && right.check(sample).valid === true);
      // Only findings about the whole value count here; those about fields and entries concern other values.
      const whole = compareSchemas(view(given), view(taken), "some").filter(
        ({ path, severity, message }) => path.length === 0 && severity === "error" && / where /.test(message),
      );
      expect(whole).toEqual([]);
    }),
  );
});
