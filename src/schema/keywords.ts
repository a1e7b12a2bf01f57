// Places of subschemas in a schema, and the draft of a schema. Every traversal uses this table, so that a property named "pattern"
// is never mistaken for a keyword.

import { isObject } from "../model/index.ts";

/** Content of a place in a schema: one schema, a map from names to schemas, a list of schemas, or plain data. */
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

/** Keywords whose subschemas apply to the same value as their parent. */
export const IN_PLACE: readonly string[] = ["allOf", "anyOf", "oneOf"];

/**
 * Returns the kind of `value` under `keyword`. An object under an unknown keyword counts as a schema, because a `$ref`
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

/** Returns the kind of an entry in a map or list of schemas. */
export function kindOfEntry(value: unknown): Kind {
  return isSchema(value) ? "schema" : "data";
}

export function isSchema(value: unknown): value is Record<string, unknown> | boolean {
  return typeof value === "boolean" || isObject(value);
}

/** Escapes a name as one step of a JSON Pointer. */
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

/** Names of the engine. Draft-04 and draft-06 are rewritten as draft-07. */
export type Dialect = "4" | "7" | "2019-09" | "2020-12";

/** The default of MCP is 2020-12, which is also used for unknown dialects. */
export function dialectOf(schema: unknown): Dialect {
  const named =
    typeof schema === "object" && schema !== null ? (schema as { $schema?: unknown }).$schema : undefined;
  if (typeof named !== "string") return "2020-12";
  const id =
    /^https?:\/\/json-schema\.org\/(draft-0[467]|draft\/2019-09|draft\/2020-12)\/(?:hyper-)?schema#?$/.exec(
      named,
    )?.[1];
  if (id === "draft-04") return "4";
  if (id === "draft-06" || id === "draft-07") return "7";
  return id === "draft/2019-09" ? "2019-09" : "2020-12";
}
