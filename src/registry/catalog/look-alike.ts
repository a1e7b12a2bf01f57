// Look-alike scopes: @aIice for @alice. Names are ASCII, so only letters, digits and hyphens can be confused.

import { type IndexPackage, type RegistryIndex, scopeOf } from "./types.ts";

const PAIRS: readonly (readonly [RegExp, string])[] = [
  [/-/g, ""],
  [/rn/g, "m"],
  [/vv/g, "w"],
  [/cl/g, "d"],
  [/0/g, "o"],
  [/[1i]/g, "l"],
  [/5/g, "s"],
  [/8/g, "b"],
  [/2/g, "z"],
  [/(.)\1+/g, "$1"],
];

/** Two scopes with the same skeleton look alike. */
export function skeletonOf(scope: string): string {
  return PAIRS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), scope);
}

/** For each scope that looks like an older one: the older one. */
export function findLookAlikes({ packages }: Pick<RegistryIndex, "packages">): ReadonlyMap<string, string> {
  const since = new Map<string, string>();
  for (const [name, found] of Object.entries(packages)) {
    const scope = scopeOf(name) ?? "";
    const date = firstPublished(found);
    const known = since.get(scope);
    if (known === undefined || date < known) since.set(scope, date);
  }
  const oldest = new Map<string, string>();
  const byAge = [...since].sort(([a, x], [b, y]) => (x === y ? (a < b ? -1 : 1) : x < y ? -1 : 1));
  const alike = new Map<string, string>();
  for (const [scope] of byAge) {
    const skeleton = skeletonOf(scope);
    const first = oldest.get(skeleton);
    if (first === undefined) oldest.set(skeleton, scope);
    else alike.set(scope, first);
  }
  return alike;
}

/** The existing scope that a new scope looks like. */
export function lookAlikeOf(scope: string, scopes: Iterable<string>): string | undefined {
  const skeleton = skeletonOf(scope);
  for (const other of scopes) if (other !== scope && skeletonOf(other) === skeleton) return other;
  return undefined;
}

function firstPublished({ versions }: IndexPackage): string {
  let first = "9999";
  for (const { publishedAt } of Object.values(versions)) if (publishedAt < first) first = publishedAt;
  return first;
}
