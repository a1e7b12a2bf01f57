// Which input fits a schema, which value a form begins with, and what is wrong with a value. Pure functions.

import type { Json, JsonMap, Schema } from "../types.ts";

export type Field =
  | {
      readonly kind: "text";
      readonly input: "text" | "email" | "url" | "date" | "datetime-local" | "textarea";
    }
  | { readonly kind: "number"; readonly isInteger: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly options: readonly Option[] }
  | { readonly kind: "choices"; readonly options: readonly Option[] }
  | { readonly kind: "file" }
  | { readonly kind: "list"; readonly items: Schema }
  | { readonly kind: "object"; readonly properties: readonly (readonly [string, Schema])[] }
  /** Everything else is edited as JSON. */
  | { readonly kind: "json" };

export interface Option {
  readonly value: Json;
  readonly label: string;
}

const FORMATS: Readonly<Record<string, "email" | "url" | "date" | "datetime-local">> = {
  email: "email",
  uri: "url",
  url: "url",
  date: "date",
  "date-time": "datetime-local",
};
const LONG = /text|content|body|message|query|script|code|prompt|description/i;
const MAX_DEPTH = 4;
const MAX_FIELDS = 200;

export function fieldOf(schema: Schema, name = "", depth = 0): Field {
  const options = optionsOf(schema);
  if (options !== undefined) return { kind: "choice", options };
  switch (typeOf(schema)) {
    case "string": {
      if (schema.contentEncoding === "base64") return { kind: "file" };
      const input = FORMATS[schema.format ?? ""];
      return { kind: "text", input: input ?? (LONG.test(name) ? "textarea" : "text") };
    }
    case "number":
    case "integer":
      return { kind: "number", isInteger: typeOf(schema) === "integer" };
    case "boolean":
      return { kind: "boolean" };
    case "array": {
      const items = schema.items ?? {};
      const each = optionsOf(items);
      if (each !== undefined) return { kind: "choices", options: each };
      const field = depth < MAX_DEPTH ? fieldOf(items, name, depth + 1) : undefined;
      return field === undefined || field.kind === "json" ? { kind: "json" } : { kind: "list", items };
    }
    case "object": {
      const properties = Object.entries(schema.properties ?? {});
      const isForm = properties.length > 0 && properties.length <= MAX_FIELDS && depth < MAX_DEPTH;
      return isForm ? { kind: "object", properties } : { kind: "json" };
    }
    default:
      return { kind: "json" };
  }
}

/** A type beside null, or the only alternative beside null. */
function typeOf(schema: Schema): string | undefined {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length === 1) return types[0];
  if (schema.properties !== undefined) return "object";
  return undefined;
}

function optionsOf(schema: Schema): readonly Option[] | undefined {
  const { enumNames = [] } = schema;
  if (schema.enum !== undefined)
    return schema.enum.map((value, index) => ({ value, label: enumNames[index] ?? labelOf(value) }));
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives === undefined || alternatives.length === 0) return undefined;
  if (!alternatives.every((one) => one.const !== undefined)) return undefined;
  return alternatives.map((one) => ({
    value: one.const ?? null,
    label: one.title ?? labelOf(one.const ?? null),
  }));
}

function labelOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The alternatives of a schema are edited by the first that is not null. */
export function simplified(schema: Schema): Schema {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.type !== undefined || alternatives === undefined || optionsOf(schema) !== undefined)
    return schema;
  const others = alternatives.filter((one) => one.type !== "null");
  return others.length === 1 && others[0] !== undefined
    ? { ...schema, anyOf: undefined, oneOf: undefined, ...others[0] }
    : schema;
}

/** The defaults of the schema, and the values of required fields that have only one. */
export function initialValue(schema: Schema, depth = 0): JsonMap {
  const value: JsonMap = {};
  for (const [name, property] of Object.entries(schema.properties ?? {}).slice(0, MAX_FIELDS)) {
    const found = simplified(property);
    if (found.default !== undefined) value[name] = found.default;
    else if (found.const !== undefined) value[name] = found.const;
    else if (schema.required?.includes(name) === true) {
      const field = fieldOf(found, name, depth);
      if (field.kind === "object") value[name] = initialValue(found, depth + 1);
      if (field.kind === "boolean") value[name] = false;
    }
  }
  return value;
}

/** Problems by the path of the field, such as `place.city`. The server checks the rest. */
export function problemsOf(schema: Schema, value: JsonMap, path = ""): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const found = simplified(property);
    const at = path === "" ? name : `${path}.${name}`;
    const given = value[name];
    if (given === undefined) {
      if (schema.required?.includes(name) === true) problems.set(at, "This field is required.");
      continue;
    }
    const problem = problemOf(found, given);
    if (problem !== undefined) problems.set(at, problem);
    if (fieldOf(found, name).kind === "object" && isMap(given))
      for (const [inner, text] of problemsOf(found, given, at)) problems.set(inner, text);
  }
  return problems;
}

function problemOf(schema: Schema, value: Json): string | undefined {
  if (typeof value === "number") {
    if (typeOf(schema) === "integer" && !Number.isInteger(value)) return "This must be a whole number.";
    if (schema.minimum !== undefined && value < schema.minimum) return `The minimum is ${schema.minimum}.`;
    if (schema.maximum !== undefined && value > schema.maximum) return `The maximum is ${schema.maximum}.`;
  }
  if (typeof value === "string") {
    if (schema.minLength !== undefined && value.length < schema.minLength)
      return `At least ${schema.minLength} characters are needed.`;
    if (schema.maxLength !== undefined && value.length > schema.maxLength)
      return `At most ${schema.maxLength} characters are allowed.`;
  }
  return undefined;
}

export function isMap(value: Json | undefined): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
