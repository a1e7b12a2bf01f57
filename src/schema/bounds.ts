// Size limits of untrusted schemas and values, checked by one cheap traversal that is safe for any depth and size.

import { isObject } from "../model/index.ts";
import { type Kind, kindOfEntry, kindUnder } from "./keywords.ts";

/** Limits on depth and size. Depth counts schemas inside of schemas, not the maps and lists between them. */
export const SCHEMA_LIMITS = { bytes: 262_144, depth: 64, subschemas: 5000, properties: 2000 } as const;
export const INSTANCE_LIMITS = { depth: 128, nodes: 200_000 } as const;

export interface SchemaFacts {
  /** Cost of one evaluation of the whole schema: the number of its values, with long texts counted by length. */
  readonly weight: number;
  readonly subschemas: number;
  /** True if the schema has references, so that ids, anchors and unknown keywords matter. */
  readonly refs: "none" | "static" | "dynamic";
  /** True for `uniqueItems`, which may compare all pairs of items. */
  readonly pairs: boolean;
  /** Values of `pattern` and names in `patternProperties`. */
  readonly patterns: readonly string[];
  readonly namePatterns: readonly string[];
  /** True if one check costs at most schema x instance, apart from patterns: no recursion, no comparison of pairs, no patterns of names. */
  readonly tame: boolean;
}

export type SchemaBounds =
  | { readonly ok: true; readonly facts: SchemaFacts }
  | { readonly ok: false; readonly reason: string };

export function boundSchema(schema: unknown): SchemaBounds {
  if (typeof schema !== "boolean" && !isObject(schema))
    return refuse("it is not a JSON Schema (neither an object nor a boolean)");
  const todo: { value: unknown; kind: Kind; depth: number }[] = [{ value: schema, kind: "schema", depth: 0 }];
  const patterns = new Set<string>();
  const namePatterns: string[] = [];
  let [bytes, subschemas, weight] = [0, 0, 0];
  let [refs, pairs]: [SchemaFacts["refs"], boolean] = ["none", false];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { value, kind } = next;
    weight += 1;
    bytes += 2 + (typeof value === "string" ? value.length : 0);
    if (typeof value === "string") weight += value.length >> 5;
    if (kind === "schema" && ++subschemas > SCHEMA_LIMITS.subschemas) {
      return refuse(`it has more than ${SCHEMA_LIMITS.subschemas} subschemas`);
    }
    if (bytes > SCHEMA_LIMITS.bytes) return refuse(`it is larger than ${SCHEMA_LIMITS.bytes / 1024} KiB`);
    if (typeof value !== "object" || value === null) continue;

    const depth = next.depth + (kind === "schema" || kind === "data" ? 1 : 0);
    if (depth > SCHEMA_LIMITS.depth) return refuse(`it is nested more than ${SCHEMA_LIMITS.depth} deep`);
    if (Array.isArray(value)) {
      if (value.length * 2 > SCHEMA_LIMITS.bytes)
        return refuse(`it is larger than ${SCHEMA_LIMITS.bytes / 1024} KiB`);
      for (const item of value)
        todo.push({ value: item, kind: kind === "list" ? kindOfEntry(item) : "data", depth });
      continue;
    }
    const keys = Object.keys(value);
    if (keys.length > SCHEMA_LIMITS.properties) {
      return refuse(`it has an object with more than ${SCHEMA_LIMITS.properties} properties`);
    }
    for (const key of keys) {
      const child = (value as Record<string, unknown>)[key];
      bytes += key.length + 2;
      weight += key.length >> 5;
      const childKind =
        kind === "schema" ? kindUnder(key, child) : kind === "map" ? kindOfEntry(child) : "data";
      todo.push({ value: child, kind: childKind, depth });
      if (kind !== "schema") continue;
      if (key === "$dynamicRef" || key === "$recursiveRef") refs = "dynamic";
      if (key === "$ref" && refs === "none") refs = "static";
      if (key === "uniqueItems" && child !== false) pairs = true;
      if (key === "pattern" && typeof child === "string") patterns.add(child);
      if (key === "patternProperties" && isObject(child)) namePatterns.push(...Object.keys(child));
    }
  }
  const tame = refs === "none" && !pairs && namePatterns.length === 0;
  return {
    ok: true,
    facts: { weight, subschemas, refs, pairs, patterns: [...patterns], namePatterns, tame },
  };
}

export interface InstanceSize {
  readonly nodes: number;
  readonly depth: number;
  readonly longest: number;
  /** Cost of one traversal of the value. */
  readonly weight: number;
  /** False if JSON changes the value: `undefined`, dates, NaN, class instances. */
  readonly plain: boolean;
}

export type InstanceBounds =
  | ({ readonly ok: true } & InstanceSize)
  | { readonly ok: false; readonly reason: string };

export function measureInstance(value: unknown): InstanceBounds {
  const values: unknown[] = [value];
  const depths: number[] = [0];
  let [nodes, deepest, longest, chars, plain] = [1, 0, 0, 0, true];
  while (values.length > 0) {
    const current = values.pop();
    const depth = (depths.pop() ?? 0) + 1;
    if (typeof current === "string") {
      chars += current.length;
      if (current.length > longest) longest = current.length;
      continue;
    }
    if (typeof current !== "object" || current === null) {
      if (
        typeof current === "number"
          ? !Number.isFinite(current)
          : current !== null && typeof current !== "boolean"
      )
        plain = false;
      continue;
    }
    if (depth > INSTANCE_LIMITS.depth)
      return refuse(`the value is nested more than ${INSTANCE_LIMITS.depth} deep`);
    if (depth > deepest) deepest = depth;
    if (!isPlain(current)) plain = false;
    const keys = Array.isArray(current) ? undefined : Object.keys(current);
    nodes += keys?.length ?? (current as unknown[]).length;
    if (nodes > INSTANCE_LIMITS.nodes)
      return refuse(`the value has more than ${INSTANCE_LIMITS.nodes} parts`);
    if (keys === undefined) {
      for (const item of current as unknown[]) {
        values.push(item);
        depths.push(depth);
      }
      continue;
    }
    for (const key of keys) {
      chars += key.length;
      if (key.length > longest) longest = key.length;
      values.push((current as Record<string, unknown>)[key]);
      depths.push(depth);
    }
  }
  return { ok: true, nodes, depth: deepest, longest, weight: nodes + (chars >> 5), plain };
}

/** Returns true for values that `JSON.parse` could return, and false for class instances, dates and the like. */
function isPlain(value: object): boolean {
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
