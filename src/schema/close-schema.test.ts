import { expect, test } from "vitest";
import { closedSchema, createValidator } from "./index.ts";

const accepts = async (schema: object, value: object): Promise<unknown> =>
  (await createValidator(closedSchema({ type: "object", ...schema }))).check(value).valid;

test("a schema without a rule for additional properties refuses them", async () => {
  expect(await accepts({ properties: { a: {} } }, { a: 1 })).toBe(true);
  expect(await accepts({ properties: { a: {} } }, { b: 1 })).toBe(false);
  expect(await accepts({}, { b: 1 })).toBe(false);
});

test("a rule of the schema for additional properties is kept", async () => {
  expect(await accepts({ additionalProperties: true }, { b: 1 })).toBe(true);
  expect(await accepts({ unevaluatedProperties: { type: "number" } }, { b: 1 })).toBe(true);
  expect(await accepts({ patternProperties: { "^x-": {} } }, { "x-b": 1 })).toBe(true);
  expect(await accepts({ patternProperties: { "^x-": {} } }, { b: 1 })).toBe(false);
});

test("properties that allOf or dependencies declare are accepted", async () => {
  const elsewhere = { allOf: [{ properties: { b: {} } }], properties: { a: {} } };
  expect(await accepts(elsewhere, { a: 1, b: 1 })).toBe(true);
  expect(await accepts(elsewhere, { c: 1 })).toBe(false);
  // draft-07 has no keyword for this: the schema stays open.
  const old = { $schema: "http://json-schema.org/draft-07/schema#", ...elsewhere };
  expect(await accepts(old, { b: 1 })).toBe(true);
  const dependent = { $schema: old.$schema, dependencies: { a: { properties: { b: {} } } } };
  expect(await accepts(dependent, { b: 1 })).toBe(true);
});
