// Where subschemas stand inside a schema: every walk over a foreign schema asks here, so that a property named "pattern" is never taken for a keyword.

import { isObject } from "../model/index.ts";

/** What a place in a schema holds: one schema, a name-to-schema map, a list of schemas, or plain data. */
export type Kind = "schema" | "map" | "list" | "data";

type Position = Kind | "schema-or-list";

const POSITIONS: ReadonlyMap<string, Position> = new Map<string, Position>([
  ...names(
    "schema",
    "additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames",
  ),
  ...names("schema", "not if then else contentSchema"),
  ...names("schema-or-list", "items"),
  ...names("list", "prefixItems allOf anyOf oneOf"),
  ...names("map", "$defs definitions properties patternProperties dependentSchemas dependencies"),
  ...names("data", "enum const default example examples required type dependentRequired $vocabulary"),
]);

/** Keywords whose subschemas judge the same value as the schema that holds them. */
export const IN_PLACE: readonly string[] = ["allOf", "anyOf", "oneOf"];

/**
 * What `value` is when it stands under `keyword`. An object under an unknown keyword counts as a schema, because a `$ref`
 * may point there (`#/components/schemas/...`).
 */
export function kindUnder(keyword: string, value: unknown): Kind {
  if (typeof value !== "object" || value === null)
    return typeof value === "boolean" ? booleanKind(keyword) : "data";
  const position = POSITIONS.get(keyword) ?? "schema";
  if (Array.isArray(value)) return position === "list" || position === "schema-or-list" ? "list" : "data";
  if (position === "schema-or-list") return "schema";
  return position === "list" ? "data" : position;
}

/** What an entry of a map or a list of schemas is. */
export function kindOfEntry(value: unknown): Kind {
  return isSchema(value) ? "schema" : "data";
}

export function isSchema(value: unknown): value is Record<string, unknown> | boolean {
  return typeof value === "boolean" || isObject(value);
}

/** A name from a stranger as one step of a JSON Pointer. */
export function pointerStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function booleanKind(keyword: string): Kind {
  const position = POSITIONS.get(keyword);
  return position === "schema" || position === "schema-or-list" ? "schema" : "data";
}

function names(position: Position, list: string): [string, Position][] {
  return list.split(" ").map((name) => [name, position]);
}
