// How costly a schema's references are when each is followed in full; Zod follows them without any limit.

import { isObject, type JsonObject } from "../model/index.ts";
import { IN_PLACE, isSchema, kindUnder } from "./keywords.ts";

export interface RefCost {
  /** Subschemas with every reference written out, as far as that ends. */
  readonly size: number;
  /** Some value could be judged more often than any fixed number of times, or for ever. */
  readonly unbounded: boolean;
}

/** `schema` must be within bounds. `resolve` gives the schema behind a local reference. */
export function refCost(schema: unknown, resolve: (ref: string) => unknown): RefCost {
  const sizes = new Map<string, number>();
  /** References being followed, with how far down in the value each was met. */
  const open = new Map<string, number>();
  let [recursive, forked, endless, down] = [false, false, false, 0];

  const sizeOf = (node: unknown): number => {
    if (!isObject(node)) return 1;
    const ref = node["$ref"];
    let size = 1 + (typeof ref === "string" ? follow(ref) : 0);
    const judging = { here: typeof ref === "string" ? 1 : 0, below: 0, again: 0 };
    for (const { value, place } of childrenOf(node)) {
      if (hasRef(value)) judging[place] = place === "below" ? 1 : judging[place] + 1;
      if (place !== "here") down += 1;
      size += sizeOf(value);
      if (place !== "here") down -= 1;
    }
    // Two ways from one place to references double the work with every level of the value; different fields are different places.
    if (judging.here + judging.below + judging.again > 1) forked = true;
    const types = Array.isArray(node["type"]) ? node["type"].length : 1;
    return Math.min(size * Math.max(1, types), Number.MAX_SAFE_INTEGER);
  };

  const follow = (ref: string): number => {
    const known = sizes.get(ref);
    if (known !== undefined) return known;
    const entered = open.get(ref);
    if (entered !== undefined) {
      recursive = true;
      if (entered === down) endless = true;
      return 1;
    }
    open.set(ref, down);
    const size = sizeOf(resolve(ref));
    open.delete(ref);
    sizes.set(ref, size);
    return size;
  };

  const size = sizeOf(schema);
  return { size, unbounded: endless || (recursive && forked) };
}

/** The same value as the parent, a part of it, or a part that a sibling keyword judges too. */
type Place = "here" | "below" | "again";

/** Definitions count only where they are referred to. */
function* childrenOf(node: JsonObject): Generator<{ value: unknown; place: Place }> {
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === "$defs" || keyword === "definitions") continue;
    const kind = kindUnder(keyword, value);
    const shared = keyword === "patternProperties" || keyword === "contains";
    const place: Place = IN_PLACE.includes(keyword) ? "here" : shared ? "again" : "below";
    if (kind === "schema" && isObject(value)) yield { value, place };
    if (kind === "list" && Array.isArray(value)) for (const entry of value) yield { value: entry, place };
    if (kind === "map" && isObject(value))
      for (const entry of Object.values(value)) if (isSchema(entry)) yield { value: entry, place };
  }
}

function hasRef(node: unknown): boolean {
  if (!isObject(node)) return false;
  if (node["$ref"] !== undefined) return true;
  for (const { value } of childrenOf(node)) if (hasRef(value)) return true;
  return false;
}
