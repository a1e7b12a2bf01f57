// Reads an untrusted JSON Schema within limits: the types of a property, and the properties of an object.

import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";

export type SchemaType = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

const TYPES: ReadonlySet<unknown> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "array",
  "object",
]);
const MAX_STEPS = 32;
const MAX_DEPTH = 6;
/** How many parts of one schema are read. Nested unions and cycles multiply, so a depth limit alone is not enough. */
const MAX_PARTS = 500;

/** Follows local `$ref`s. A cycle ends after a bounded number of steps. */
export function resolveSchema(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let current = schema;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (!isObject(current)) return undefined;
    const reference = current["$ref"];
    if (typeof reference !== "string") return current;
    current = atPointer(reference, root);
  }
  return undefined;
}

function atPointer(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith("#") || reference.length > 1_000) return undefined;
  let current: unknown = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    } catch {
      return undefined;
    }
    if (Array.isArray(current)) current = current[Number(key)];
    else if (isObject(current) && Object.hasOwn(current, key)) current = current[key];
    else return undefined;
  }
  return current;
}

/** The branches of a union; undefined when the schema is not a union. */
export function branchesOf(schema: JsonSchema): unknown[] | undefined {
  for (const keyword of ["anyOf", "oneOf"]) {
    const list = schema[keyword];
    if (Array.isArray(list) && list.length > 0) return list;
  }
  return undefined;
}

/** The types that a value may have; undefined when the schema does not say. */
export function typesOf(schema: unknown, root: JsonSchema): ReadonlySet<SchemaType> | undefined {
  return findTypes(schema, root, 0, { left: MAX_PARTS });
}

function findTypes(
  schema: unknown,
  root: JsonSchema,
  depth: number,
  budget: { left: number },
): ReadonlySet<SchemaType> | undefined {
  budget.left -= 1;
  const resolved = budget.left < 0 || depth > MAX_DEPTH ? undefined : resolveSchema(schema, root);
  if (resolved === undefined) return undefined;
  const named = [resolved["type"]].flat().filter((type): type is SchemaType => TYPES.has(type));
  if (named.length > 0) return new Set(named);
  const values = enumOf(resolved);
  if (values !== undefined) return new Set(values.map(typeOfValue));
  const branches = branchesOf(resolved);
  if (branches !== undefined) {
    const union = new Set<SchemaType>();
    for (const branch of branches) {
      const types = findTypes(branch, root, depth + 1, budget);
      if (types === undefined) return undefined;
      for (const type of types) union.add(type);
    }
    return union;
  }
  const all = resolved["allOf"];
  if (Array.isArray(all)) {
    for (const part of all) {
      const types = findTypes(part, root, depth + 1, budget);
      if (types !== undefined) return types;
    }
  }
  return isObject(resolved["properties"]) ? new Set(["object"]) : undefined;
}

/** The listed values of `enum` or `const`. */
export function enumOf(schema: JsonSchema): unknown[] | undefined {
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return schema["enum"];
  return Object.hasOwn(schema, "const") ? [schema["const"]] : undefined;
}

function typeOfValue(value: unknown): SchemaType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? type : "object";
}

export interface Property {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

export interface ObjectShape {
  readonly properties: ReadonlyMap<string, Property>;
  /** True when the schema forbids names that it does not list. */
  readonly closed: boolean;
  /** True when the schema explicitly allows names that it does not list. */
  readonly open: boolean;
}

/** The properties of an object schema, including those of `allOf` and (as optional) of `anyOf` and `oneOf` branches. */
export function shapeOf(schema: unknown, root: JsonSchema): ObjectShape {
  const schemas = new Map<string, unknown>();
  const required = new Set<string>();
  let closed = false;
  let open = false;
  let left = MAX_PARTS;
  const visit = (part: unknown, certain: boolean, depth: number): void => {
    left -= 1;
    const resolved = left < 0 || depth > MAX_DEPTH ? undefined : resolveSchema(part, root);
    if (resolved === undefined) return;
    if (isObject(resolved["properties"])) {
      for (const [name, property] of Object.entries(resolved["properties"])) {
        if (!schemas.has(name)) schemas.set(name, property);
      }
    }
    if (certain && Array.isArray(resolved["required"])) {
      for (const name of resolved["required"]) if (typeof name === "string") required.add(name);
    }
    const additional = resolved["additionalProperties"];
    if (additional === false && certain) closed = true;
    if (additional === true || isObject(additional) || isObject(resolved["patternProperties"])) open = true;
    for (const branch of listOf(resolved["allOf"])) visit(branch, certain, depth + 1);
    for (const keyword of ["anyOf", "oneOf"])
      for (const branch of listOf(resolved[keyword])) visit(branch, false, depth + 1);
  };
  visit(schema, true, 0);
  const properties = new Map<string, Property>();
  for (const [name, property] of schemas)
    properties.set(name, { name, schema: property, required: required.has(name) });
  for (const name of required)
    if (!properties.has(name)) properties.set(name, { name, schema: {}, required: true });
  return { properties, closed: closed && !open, open };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, 50) : [];
}

/** Defines an own property, so that "__proto__" is a name like any other. */
export function setOwn(target: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

export function getOwn(target: JsonObject, key: string): unknown {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}
