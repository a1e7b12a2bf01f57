// Cost of a schema with all references expanded. Both engines follow references without a limit.

import { isObject, type JsonObject } from "../model/index.ts";
import { isSchema, kindUnder } from "./keywords.ts";

export interface RefCost {
  /** Weight of all subschemas with every reference expanded, up to a limit. */
  readonly weight: number;
  /** True if the number of evaluations of a part of a value has no fixed bound. */
  readonly unbounded: boolean;
}

export interface RefReader {
  /** Target of a `$ref`, and a key that is equal for equal targets. */
  follow(node: JsonObject): { readonly name: string; readonly target: unknown } | undefined;
  /** Weight of one subschema without the subschemas in it. */
  weigh(node: JsonObject): number;
}

/** The subschema applies to the same value as its parent, to a part of it, or to a part that a sibling keyword also checks. */
type Place = "here" | "below" | "again";

const PLACES: ReadonlyMap<string, Place> = new Map([
  ...words("allOf anyOf oneOf not if then else dependentSchemas dependencies").map(
    (word) => [word, "here"] as const,
  ),
  ...words("patternProperties contains propertyNames unevaluatedProperties unevaluatedItems").map(
    (word) => [word, "again"] as const,
  ),
]);

/** `schema` must be within the limits of `bounds.ts`. */
export function refCost(schema: unknown, reader: RefReader): RefCost {
  const weights = new Map<string, number>();
  /** References that are being followed, with the depth in the value where each was found. */
  const open = new Map<string, number>();
  let [recursive, forked, endless, down] = [false, false, false, 0];

  const weightOf = (node: unknown): number => {
    if (!isObject(node)) return 1;
    let weight = reader.weigh(node) + weightBehind(node);
    const judging = { here: node["$ref"] === undefined ? 0 : 1, below: 0, again: 0 };
    for (const { value, place } of childrenOf(node)) {
      if (hasRef(value)) judging[place] = place === "below" ? 1 : judging[place] + 1;
      if (place !== "here") down += 1;
      weight += weightOf(value);
      if (place !== "here") down -= 1;
    }
    // Two recursive references in one place double the work with every level of the value. Different fields are different places.
    if (judging.here + judging.below + judging.again > 1) forked = true;
    // Zod expands a list of types to that many schemas.
    const types = Array.isArray(node["type"]) ? node["type"].length : 1;
    return Math.min(weight * Math.max(1, types), Number.MAX_SAFE_INTEGER);
  };

  const weightBehind = (node: JsonObject): number => {
    const found = node["$ref"] === undefined ? undefined : reader.follow(node);
    if (found === undefined) return 0;
    const known = weights.get(found.name);
    if (known !== undefined) return known;
    const entered = open.get(found.name);
    if (entered !== undefined) {
      recursive = true;
      if (entered === down) endless = true;
      return 1;
    }
    open.set(found.name, down);
    const weight = weightOf(found.target);
    open.delete(found.name);
    weights.set(found.name, weight);
    return weight;
  };

  const weight = weightOf(schema);
  return { weight, unbounded: endless || (recursive && forked) };
}

/** Definitions count only where they are referenced. */
function* childrenOf(node: JsonObject): Generator<{ value: unknown; place: Place }> {
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === "$defs" || keyword === "definitions") continue;
    const kind = kindUnder(keyword, value);
    const place = PLACES.get(keyword) ?? "below";
    if (kind === "schema" && isObject(value)) yield { value, place };
    if (kind === "list" && Array.isArray(value)) for (const entry of value) yield { value: entry, place };
    if (kind !== "map" || !isObject(value)) continue;
    for (const entry of Object.values(value)) if (isSchema(entry)) yield { value: entry, place };
  }
}

function hasRef(node: unknown): boolean {
  if (!isObject(node)) return false;
  if (node["$ref"] !== undefined) return true;
  for (const { value } of childrenOf(node)) if (hasRef(value)) return true;
  return false;
}

function words(list: string): string[] {
  return list.split(" ");
}
