// The body of an operation as arguments: its properties beside the parameters, or one argument for the whole body.

import { isObject } from "../../model/index.ts";
import type { SpecDiagnostics } from "../document/diagnostics.ts";
import { child, follow, items, members, type Spec, textOf } from "../document/document.ts";
import type { Operation } from "../document/operations.ts";
import { FORBIDDEN } from "../limits.ts";
import { isHidden, kindOf } from "../schema/inspect.ts";
import { isNullable } from "../schema/keywords.ts";
import type { SchemaConverter } from "../schema/schema.ts";
import { type At, type Schema, Unusable } from "../types.ts";
import type { Body } from "./body.ts";
import { argumentOf } from "./parameter-schema.ts";
import { described, type Inputs } from "./tool-inputs.ts";

interface SentBody {
  /** Fields of the invocation. */
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Schema of arguments that are not named; `false` if the request could not send them. */
  readonly additional: Schema | undefined;
}

/** A body that was read before the parameters get their names. */
interface PreparedBody {
  readonly body: Body;
  /** Undefined if it can only be passed as a whole. */
  readonly flat: FlatBody | undefined;
}

const NO_BODY: SentBody = { fields: {}, headers: {}, additional: false };

/** Returns undefined if there is no body, or if the method cannot have one. */
export function prepareBody(
  spec: Spec,
  { method, label }: Operation,
  body: Body | undefined,
  inputs: Inputs,
  converter: SchemaConverter,
  diagnostics: SpecDiagnostics,
): PreparedBody | undefined {
  if (body === undefined) return undefined;
  if (method === "GET" || method === "HEAD") {
    if (body.required)
      throw new Unusable(`it requires a body with ${method}, which a tool cannot send`, body.path);
    diagnostics.warn(body.path, `${label}: its body is left out, because a ${method} request has no body`);
    return undefined;
  }
  const flat =
    body.fields === undefined
      ? flatten(spec, body, converter)
      : flattenFields(spec, body.fields, converter, diagnostics);
  if (body.kind === "form") {
    // A form cannot be passed as a whole, so parameters with the same names are renamed instead.
    if (flat === undefined) throw new Unusable("its form is not a plain list of fields", body.path);
    inputs.reserve(flat.properties.keys());
  }
  return { body, flat };
}

export function sendBody(
  { method }: Operation,
  prepared: PreparedBody | undefined,
  inputs: Inputs,
  converter: SchemaConverter,
): SentBody {
  if (prepared === undefined) return NO_BODY;
  const { body, flat } = prepared;
  const fields: Record<string, string> = {};
  if (body.kind === "form") fields.body = "form";
  else if (method === "DELETE") fields.body = "json";
  const headers: Record<string, string> =
    body.kind === "json" && body.mediaType !== "application/json" ? { "Content-Type": body.mediaType } : {};
  const isFree = (name: string): boolean => body.kind === "form" || !inputs.has(name);
  if (flat !== undefined && [...flat.properties.keys()].every(isFree)) {
    for (const [name, schema] of flat.properties) inputs.add(name, schema, flat.required.includes(name));
    return { fields, headers, additional: flat.additional };
  }
  const name = inputs.free("body");
  // A body with required properties is required, although few descriptions say so.
  const required = body.required || (flat !== undefined && flat.required.length > 0);
  inputs.add(name, described(convertWhole(body, converter), body.description), required);
  return { fields: { ...fields, bodyRoot: name }, headers, additional: false };
}

function flatten(spec: Spec, { schema }: Body, converter: SchemaConverter): FlatBody | undefined {
  return schema === undefined ? undefined : flattenBody(spec, schema, converter);
}

function flattenFields(
  spec: Spec,
  fields: readonly At[],
  converter: SchemaConverter,
  diagnostics: SpecDiagnostics,
): FlatBody {
  const properties = new Map<string, Schema>();
  const required: string[] = [];
  for (const at of fields) {
    const name = textOf(at, "name") ?? "";
    if (FORBIDDEN.has(name)) throw new Unusable(`its field ${name} has a name that cannot be used`, at.path);
    const isJoined = kindOf(spec, at) === "array" && child(at, "collectionFormat").value !== "multi";
    const writing = isJoined ? ({ kind: "joined", by: "," } as const) : ({ kind: "repeated" } as const);
    const argument = argumentOf(
      { name, in: "query", required: false, at, schema: at, writing },
      converter,
      diagnostics,
    );
    if ("problem" in argument) throw new Unusable(`its field ${name} ${argument.problem}`, at.path);
    properties.set(name, argument.schema);
    if (child(at, "required").value === true) required.push(name);
  }
  return { properties, required, additional: false };
}

function convertWhole({ schema }: Body, converter: SchemaConverter): Schema {
  const whole = schema === undefined ? {} : converter.convert(schema);
  return isObject(whole) ? whole : {};
}

/** A body whose properties can be arguments of the tool beside the parameters: a plain object. */
interface FlatBody {
  readonly properties: ReadonlyMap<string, Schema>;
  readonly required: readonly string[];
  /** Schema of further properties; undefined allows any. */
  readonly additional: Schema | undefined;
}

/** Keywords that constrain an object beyond its list of properties. */
const MORE_THAN_PROPERTIES: readonly string[] = [
  "anyOf",
  "oneOf",
  "not",
  "if",
  "const",
  "enum",
  "patternProperties",
  "propertyNames",
  "minProperties",
  "maxProperties",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "$dynamicRef",
];

/** Returns undefined if the body can only be passed as a whole. */
function flattenBody(spec: Spec, schema: At, converter: SchemaConverter): FlatBody | undefined {
  const parts = collectParts(spec, schema);
  if (parts === undefined) return undefined;
  const properties = new Map<string, At>();
  const hidden = new Set<string>();
  const required = new Set<string>();
  let additional: At | undefined;
  for (const part of parts) {
    const rest = child(part, "additionalProperties");
    if (rest.value !== undefined && rest.value !== true) {
      // In one of several parts, it would apply to the properties of the others too.
      if (parts.length > 1) return undefined;
      additional = rest;
    }
    for (const { key, at } of members(child(part, "properties"))) {
      if (properties.has(key)) return undefined;
      properties.set(key, at);
      if (isHidden(spec, at, "input")) hidden.add(key);
    }
    for (const { value } of items(child(part, "required")))
      if (typeof value === "string") required.add(value);
  }
  const shown = [...properties].filter(([key]) => !hidden.has(key));
  if (shown.length === 0 && additional?.value !== false) return undefined;
  return {
    properties: new Map(shown.map(([key, at]) => [key, converter.convert(at)])),
    required: [...required].filter((key) => properties.has(key) && !hidden.has(key)),
    additional: additional === undefined ? undefined : converter.convert(additional),
  };
}

/** The schema and all parts of its `allOf`. Returns undefined if one of them is more than a list of properties. */
function collectParts(spec: Spec, schema: At): At[] | undefined {
  const parts: At[] = [];
  const seen = new Set<unknown>();
  const visit = (at: At): boolean => {
    const part = follow(spec, at);
    if (!isObject(part.value) || seen.has(part.value) || seen.size > 50) return false;
    seen.add(part.value);
    const { value } = part;
    if (MORE_THAN_PROPERTIES.some((key) => value[key] !== undefined) || isNullable(value)) return false;
    const inner = items(child(part, "allOf"));
    const isOpen =
      value.type === undefined &&
      (isObject(value.properties) || inner.length > 0 || value.required !== undefined);
    if (value.type !== "object" && !isOpen) return false;
    parts.push(part);
    return inner.every(visit);
  };
  return visit(schema) ? parts : undefined;
}
