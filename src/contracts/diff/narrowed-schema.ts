// Finds values that a schema refuses and its earlier version accepted, by keywords that limit values.

import { isObject, type JsonSchema } from "../../model/index.ts";
import { followReference } from "../../schema/index.ts";
import { same } from "./changes.ts";

const AT_MOST = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties", "maxContains"];
const AT_LEAST = ["minimum", "exclusiveMinimum"];
/** A missing keyword means 0. */
const COUNT_AT_LEAST = ["minLength", "minItems", "minProperties"];
/** A new or changed value of these keywords refuses something. */
const RULES = ["pattern", "multipleOf", "contains", "propertyNames", "not", "dependentRequired"];
const MAX_DEPTH = 32;

/** Describes the first narrower keyword; undefined when there is none. */
export function narrowerBy(before: JsonSchema, after: JsonSchema): string | undefined {
  return compare(before, after, { before, after }, [], 0);
}

/** The path of a field that was required and may be missing now. */
export function noLongerPromised(
  before: unknown,
  after: unknown,
  path: readonly string[] = [],
): string | undefined {
  if (!isObject(before) || !isObject(after) || path.length > MAX_DEPTH) return undefined;
  const [old, now] = [namesIn(before.required), new Set(namesIn(after.required))];
  const lost = old.find((name) => !now.has(name));
  if (lost !== undefined) return [...path, lost].join(".");
  const fields = isObject(before.properties) ? before.properties : {};
  for (const [name, field] of Object.entries(fields)) {
    const other = isObject(after.properties) ? after.properties[name] : undefined;
    const found = noLongerPromised(field, other, [...path, name]);
    if (found !== undefined) return found;
  }
  return noLongerPromised(before.items, after.items, [...path, "[]"]);
}

interface Roots {
  readonly before: JsonSchema;
  readonly after: JsonSchema;
}

function compare(
  given: unknown,
  taken: unknown,
  roots: Roots,
  path: readonly string[],
  depth: number,
): string | undefined {
  const [before, after] = [resolved(given, roots.before), resolved(taken, roots.after)];
  if (!isObject(before) || !isObject(after) || depth > MAX_DEPTH) return undefined;
  const own = narrowerHere(before, after);
  if (own !== undefined) return `${path.length === 0 ? "" : `${path.join(".")}: `}${own}`;
  const fields = isObject(before.properties) ? before.properties : {};
  for (const [name, field] of Object.entries(fields)) {
    const other =
      isObject(after.properties) && Object.hasOwn(after.properties, name)
        ? after.properties[name]
        : after.additionalProperties;
    const found = compare(field, other, roots, [...path, name], depth + 1);
    if (found !== undefined) return found;
  }
  return compare(before.items, after.items, roots, [...path, "[]"], depth + 1);
}

function narrowerHere(before: JsonSchema, after: JsonSchema): string | undefined {
  for (const keyword of AT_MOST) {
    const [old, now] = [before[keyword], after[keyword]];
    if (typeof now === "number" && !(typeof old === "number" && old <= now)) return `${keyword} is ${now}`;
  }
  for (const keyword of [...AT_LEAST, ...COUNT_AT_LEAST]) {
    const [old, now] = [before[keyword], after[keyword]];
    const least = typeof old === "number" ? old : COUNT_AT_LEAST.includes(keyword) ? 0 : -Infinity;
    if (typeof now === "number" && now > least) return `${keyword} is ${now}`;
  }
  for (const keyword of RULES)
    if (after[keyword] !== undefined && !same(before[keyword], after[keyword]))
      return `${keyword} is ${before[keyword] === undefined ? "new" : "another one"}`;
  if (after.uniqueItems === true && before.uniqueItems !== true) return "its entries must differ";
  if (after.additionalProperties === false && before.additionalProperties !== false)
    return "further fields are refused";
  return fewerValues(before, after);
}

function fewerValues(before: JsonSchema, after: JsonSchema): string | undefined {
  const [old, now] = [valuesIn(before), valuesIn(after)];
  if (now === undefined) return undefined;
  if (old === undefined) return before.type === "null" ? undefined : "only some values are left";
  const lost = old.find((value) => !now.some((other) => same(value, other)));
  return lost === undefined
    ? undefined
    : `${JSON.stringify(lost)?.slice(0, 60)} is not among its values any more`;
}

function valuesIn(schema: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined;
}

function namesIn(required: unknown): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function resolved(node: unknown, root: JsonSchema): unknown {
  for (let steps = 0, at = node; steps < MAX_DEPTH; steps += 1) {
    if (!isObject(at) || typeof at.$ref !== "string") return at;
    at = followReference(root, at.$ref);
  }
  return undefined;
}
