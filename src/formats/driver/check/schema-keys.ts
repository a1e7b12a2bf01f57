// The keys that a JSON Schema of an object names. The work is limited for any schema.

import { isObject, type JsonObject, type JsonSchema } from "../../../model/index.ts";

export interface SchemaKeys {
  readonly names: ReadonlySet<string>;
  /** The keys that every value has. */
  readonly required: ReadonlySet<string>;
  /** True if there may be other keys, or if that is unknown. */
  readonly open: boolean;
}

const MOST_SCHEMAS = 500;
/** All schemas of `allOf` apply; those of the other keywords may or may not. */
const TOGETHER = ["allOf"];
const APART = ["anyOf", "oneOf"];
const MAYBE = ["if", "then", "else"];

export function keysOf(schema: JsonSchema): SchemaKeys {
  const names = new Set<string>();
  const required = new Set<string>();
  let open = false;
  const seen = new Set<unknown>();
  const visit = (value: unknown, certain: boolean): void => {
    if (!isObject(value) || seen.size >= MOST_SCHEMAS) {
      open ||= value !== false;
      return;
    }
    if (seen.has(value)) return;
    seen.add(value);
    if (isObject(value.properties)) for (const name of Object.keys(value.properties)) names.add(name);
    if (certain && Array.isArray(value.required))
      for (const name of value.required) if (typeof name === "string") required.add(name);
    if (isOpen(value)) open = true;
    for (const key of TOGETHER) for (const part of listOf(value[key])) visit(part, certain);
    for (const key of APART) for (const part of listOf(value[key])) visit(part, false);
    for (const key of MAYBE) if (isObject(value[key])) visit(value[key], false);
    if (typeof value.$ref === "string") visit(follow(schema, value.$ref), certain);
  };
  visit(schema, true);
  for (const name of required) names.add(name);
  // A schema that names no key accepts any.
  return { names, required, open: open || (names.size === 0 && schema.additionalProperties !== false) };
}

function isOpen(value: JsonObject): boolean {
  const { additionalProperties: more, patternProperties: patterns } = value;
  if (isObject(patterns) && Object.keys(patterns).length > 0) return true;
  return more === true || isObject(more) || "$dynamicRef" in value;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Follows a reference within the schema; others are not followed. */
function follow(root: JsonSchema, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const step of ref
    .slice(2)
    .split("/")
    .filter(() => ref !== "#")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}
