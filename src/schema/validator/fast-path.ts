// Fast path for common schemas: closures that prove validity in a fraction of a microsecond. The full check handles the rest.

import { isObject, type JsonObject } from "../../model/index.ts";

/** Returns true if the value is certainly valid, false if the full check must decide. */
export type FastTest = (value: unknown) => boolean;

/** Limit of steps, because the fast path runs without a budget. */
const MOST_STEPS = 10_000;
const MOST_DEPTH = 16;

/** The steps that are left of one check. A compiled test has one for all its checks, because a check is synchronous. */
interface Steps {
  left: number;
}

/** Keywords without effect on validity. `rewrite.ts` explains why `format` is one of them. */
const ANNOTATIONS = new Set(
  "$schema $id id $comment $defs definitions title description default example examples deprecated readOnly writeOnly format".split(
    " ",
  ),
);

const TYPES: Readonly<Record<string, FastTest>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecord,
};

/** Returns undefined if the schema uses any other keyword. */
export function compileFastTest(schema: unknown): FastTest | undefined {
  const steps: Steps = { left: 0 };
  const test = compile(schema, 0, steps);
  if (test === undefined) return undefined;
  return (value) => {
    steps.left = MOST_STEPS;
    return test(value);
  };
}

function compile(schema: unknown, depth: number, steps: Steps): FastTest | undefined {
  if (!isObject(schema) || depth > MOST_DEPTH) return undefined;
  const tests: FastTest[] = [];
  let hasObjectKeywords = false;
  for (const [keyword, value] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword) || keyword.startsWith("x-")) continue;
    if (keyword === "properties" || keyword === "required" || keyword === "additionalProperties")
      hasObjectKeywords = true;
    else {
      const test = compileKeyword(keyword, value, depth, steps);
      if (test === undefined) return undefined;
      tests.push(test);
    }
  }
  if (hasObjectKeywords) {
    const test = compileObject(schema, depth, steps);
    if (test === undefined) return undefined;
    tests.push(test);
  }
  const [only, second] = tests;
  if (only === undefined) return () => true;
  if (second === undefined) return only;
  if (tests.length === 2) return (value) => only(value) && second(value);
  return (value) => tests.every((test) => test(value));
}

function compileKeyword(keyword: string, limit: unknown, depth: number, steps: Steps): FastTest | undefined {
  if (keyword === "type") return compileType(limit);
  if (keyword === "enum" && Array.isArray(limit) && limit.length > 0 && limit.every(isPrimitive)) {
    const values = new Set<unknown>(limit);
    return (value) => values.has(value);
  }
  if (keyword === "const" && isPrimitive(limit)) return (value) => value === limit;
  if (keyword === "items") {
    const test = compile(limit, depth + 1, steps);
    return (
      test && ((value) => !Array.isArray(value) || ((steps.left -= value.length) > 0 && value.every(test)))
    );
  }
  if (keyword === "anyOf" && Array.isArray(limit) && limit.length > 0 && limit.length <= 16) {
    const tests = limit.map((option) => compile(option, depth + 1, steps));
    if (!tests.every((test) => test !== undefined)) return undefined;
    return (value) => (steps.left -= tests.length) > 0 && tests.some((test) => test(value));
  }
  return typeof limit === "number" && Number.isFinite(limit) ? compileLimit(keyword, limit) : undefined;
}

function compileType(type: unknown): FastTest | undefined {
  const tests = (Array.isArray(type) ? type : [type]).map((name) =>
    typeof name === "string" && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined,
  );
  const [only] = tests;
  if (tests.length === 1) return only;
  return tests.every((test) => test !== undefined) ? (value) => tests.some((test) => test(value)) : undefined;
}

function compileLimit(keyword: string, limit: number): FastTest | undefined {
  switch (keyword) {
    case "minimum":
      return (value) => typeof value !== "number" || value >= limit;
    case "maximum":
      return (value) => typeof value !== "number" || value <= limit;
    case "exclusiveMinimum":
      return (value) => typeof value !== "number" || value > limit;
    case "exclusiveMaximum":
      return (value) => typeof value !== "number" || value < limit;
    // Lengths count characters, and a character may take two code units, so only the certain case is decided here.
    case "minLength":
      return (value) => typeof value !== "string" || value.length >= limit * 2;
    case "maxLength":
      return (value) => typeof value !== "string" || value.length <= limit;
    case "minItems":
      return (value) => !Array.isArray(value) || value.length >= limit;
    case "maxItems":
      return (value) => !Array.isArray(value) || value.length <= limit;
    default:
      return undefined;
  }
}

function compileObject(schema: JsonObject, depth: number, steps: Steps): FastTest | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (!isObject(properties) || !Array.isArray(required) || typeof additionalProperties !== "boolean")
    return undefined;
  const needed = new Set<unknown>(required);
  const names = [...new Set([...Object.keys(properties), ...required])];
  // Every object inherits these names, so that `in` is true for them.
  if (names.some((name) => typeof name !== "string" || name in Object.prototype)) return undefined;
  const fields: { name: string; needed: boolean; test: FastTest }[] = [];
  for (const name of names as string[]) {
    const test = Object.hasOwn(properties, name)
      ? compile(properties[name], depth + 1, steps)
      : additionalProperties
        ? () => true
        : undefined;
    if (test === undefined) return undefined;
    fields.push({ name, needed: needed.has(name), test });
  }
  const known = additionalProperties ? undefined : new Set(names);

  return (value) => {
    if (!isRecord(value)) return typeof value !== "object" || value === null || Array.isArray(value);
    if ((steps.left -= fields.length) <= 0) return false;
    for (const field of fields) {
      const found = value[field.name];
      if (found === undefined ? field.needed : !field.test(found)) return false;
    }
    if (known !== undefined) for (const name in value) if (!known.has(name)) return false;
    return true;
  };
}

/** Returns true only for plain objects. An inherited field or a `toJSON` would make the result wrong. */
function isRecord(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isPrimitive(value: unknown): boolean {
  return value === null || (typeof value !== "object" && value !== undefined);
}
