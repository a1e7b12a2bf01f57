// How a body becomes arguments: its properties beside the parameters, or one argument that is the whole of it.

import { isObject } from "../../model/index.ts";
import type { Body } from "./body.ts";
import { child, type Spec, textOf } from "../document/document.ts";
import type { Findings } from "../document/diagnostics.ts";
import { type FlatBody, flattenBody } from "./flat-body.ts";
import { described, type Inputs } from "./tool-inputs.ts";
import { FORBIDDEN } from "../limits.ts";
import type { Operation } from "../document/operations.ts";
import { argumentOf } from "./parameter-schema.ts";
import type { SchemaConverter } from "../schema/schema.ts";
import { kindOf } from "../schema/schema-kind.ts";
import { type At, type Schema, Unusable } from "../types.ts";

export interface SentBody {
  /** Fields of the invocation. */
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** What arguments beyond those that are named must be; `false` where they would go astray. */
  readonly additional: Schema | undefined;
}

/** A body that was looked at before the parameters have their names. */
export interface PreparedBody {
  readonly body: Body;
  /** Absent when it can only be passed as a whole. */
  readonly flat: FlatBody | undefined;
}

const NO_BODY: SentBody = { fields: {}, headers: {}, additional: false };

/** Nothing when there is no body, or none that the method could have. */
export function prepareBody(
  spec: Spec,
  { method, label }: Operation,
  body: Body | undefined,
  inputs: Inputs,
  converter: SchemaConverter,
  findings: Findings,
): PreparedBody | undefined {
  if (body === undefined) return undefined;
  if (method === "GET" || method === "HEAD") {
    if (body.required)
      throw new Unusable(`it wants a body with ${method}, which no tool can send`, body.path);
    findings.warn(body.path, `${label}: its body is left out, since ${method} has none`);
    return undefined;
  }
  const flat =
    body.fields === undefined
      ? flatten(spec, body, converter)
      : flattenFields(spec, body.fields, converter, findings);
  if (body.kind === "form") {
    // Only JSON can be passed as a whole, so here it is the parameters that get other names.
    if (flat === undefined) throw new Unusable("its form is more than a list of fields", body.path);
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
  // A body that has required properties is meant to be there, though few descriptions say so.
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
  findings: Findings,
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
      findings,
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
