// Random schemas and values: the full check says what the bare engine says, and the Zod view takes all that is valid.

import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import * as z from "zod";
import { expect, test } from "vitest";
import { isObject } from "../model/index.ts";
import { createValidator } from "./validator/validator.ts";
import { toZodView } from "./zod/zod-view.ts";

type Any = fc.Arbitrary<unknown>;

const primitive: Any = fc.constantFrom("", "a", "ab", "😀", -3, 0, 0.5, 2, 9, true, false, null);
const name = fc.constantFrom("a", "b", "c", "toString", "__proto__", "a/b~%");
const record = (value: Any): Any =>
  fc.array(fc.tuple(name, value), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const small = fc.integer({ min: 0, max: 3 });

function schemaOf(levels: number): fc.Arbitrary<Record<string, unknown>> {
  const leaf: Any = fc.oneof(fc.record({ type }), fc.constantFrom(true, false, {}));
  const below = levels === 0 ? leaf : fc.oneof(leaf, schemaOf(levels - 1));
  const several = fc.array(below, { minLength: 1, maxLength: 3 });
  const keywords: Record<string, Any> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.array(fc.oneof(primitive, fc.constantFrom([1], { a: 1 })), { minLength: 1, maxLength: 5 }),
    const: fc.oneof(primitive, fc.constant({ a: "a" })),
    multipleOf: fc.constantFrom(1, 2, 0.5),
    pattern: fc.constantFrom("^a", "b$", "^(a+)+$", "^[a-z]*$", "^(?=a)"),
    patternProperties: fc
      .tuple(fc.constantFrom("^a", "b", "^(b+)+$"), below)
      .map((entry) => Object.fromEntries([entry])),
    required: fc.subarray(["a", "b", "c"]),
    dependentRequired: fc.constant({ a: ["b"] }),
    $ref: fc.constantFrom("#/$defs/x", "#/$defs/y", "#"),
    default: primitive,
    format: fc.constantFrom("uuid", "uri"),
    readOnly: fc.constant(true),
    uniqueItems: fc.boolean(),
    properties: record(below),
    prefixItems: several,
    ...each(
      "minimum maximum exclusiveMinimum minLength maxLength minItems maxItems minContains minProperties",
      small,
    ),
    ...each(
      "items contains not if then else additionalProperties propertyNames unevaluatedProperties",
      below,
    ),
    ...each("anyOf oneOf allOf", several),
  };
  return fc
    .subarray(Object.keys(keywords), { maxLength: 4 })
    .chain((names) => fc.record(Object.fromEntries(names.map((key) => [key, keywords[key] ?? leaf]))));
}

function each(keywords: string, value: Any): Record<string, Any> {
  return Object.fromEntries(keywords.split(" ").map((keyword) => [keyword, value]));
}

const schema = fc
  .tuple(schemaOf(2), schemaOf(1), schemaOf(1))
  .map(([root, x, y]) => ({ ...root, $defs: { x, y } }));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, primitive, fc.array(tie("value"), { maxLength: 4 }), record(tie("value"))),
}));

/** The engine alone, which asserts formats and may overflow; undefined when it gives no answer. */
function bareAnswer(given: object, instance: unknown): boolean | undefined {
  const copy = JSON.stringify(given, (key, inner: unknown) =>
    key === "format" && typeof inner === "string" ? undefined : inner,
  );
  try {
    return new Validator(JSON.parse(copy) as object, "2020-12", false).validate(instance).valid;
  } catch {
    return undefined;
  }
}

test("the full check, the bare engine and the Zod view agree on random schemas and values", async () => {
  await fc.assert(
    fc.asyncProperty(schema, value, async (given, instance) => {
      const result = (await createValidator(given, { budgetMs: 5000 })).check(instance);
      if (result.valid === "unknown") return;
      expect(result.valid).toBe(bareAnswer(given, instance) ?? result.valid);
      if (result.valid) {
        const view = toZodView(given, z, () => {});
        if (isObject(instance)) expect(view.safeParse(instance).error).toBeUndefined();
      } else {
        expect(result.problems.length).toBeGreaterThan(0);
        for (const { message } of result.problems) expect(message).not.toMatch(/undefined|\[object/);
      }
    }),
    { numRuns: 1500 },
  );
});
