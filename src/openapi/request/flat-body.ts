// A body whose properties can stand beside the parameters as arguments of the tool: an object, nothing more.

import { isObject } from "../../model/index.ts";
import { child, follow, items, members, type Spec } from "../document/document.ts";
import { isHidden } from "../schema/one-way-properties.ts";
import type { SchemaConverter } from "../schema/schema.ts";
import { isNullable } from "../schema/older-schemas.ts";
import type { At, Schema } from "../types.ts";

export interface FlatBody {
  readonly properties: ReadonlyMap<string, Schema>;
  readonly required: readonly string[];
  /** What may stand beside the properties; nothing said is anything. */
  readonly additional: Schema | undefined;
}

/** Words that say more about an object than which properties it has. */
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

/** Nothing when it can only be passed as a whole. */
export function flattenBody(spec: Spec, schema: At, converter: SchemaConverter): FlatBody | undefined {
  const parts = collectParts(spec, schema);
  if (parts === undefined) return undefined;
  const properties = new Map<string, At>();
  const hidden = new Set<string>();
  const required = new Set<string>();
  let additional: At | undefined;
  for (const part of parts) {
    const rest = child(part, "additionalProperties");
    if (rest.value !== undefined && rest.value !== true) {
      // In one part of several it speaks about the properties of the others too.
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

/** The schema and all parts of its `allOf`; nothing when one of them is more than a list of properties. */
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
