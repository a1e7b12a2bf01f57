// What kind of value a schema is about, as far as that decides how it is written.

import { isObject } from "../../model/index.ts";
import { child, follow, items, type Spec } from "../document/document.ts";
import type { At } from "../types.ts";

export type Kind = "scalar" | "array" | "object";

/** A list or an object when any of its alternatives is one: that one must be writable too. */
export function kindOf(spec: Spec, start: At): Kind {
  const seen = new Set<unknown>();
  const visit = (at: At): Kind => {
    const found = follow(spec, at);
    if (!isObject(found.value) || seen.has(found.value) || seen.size > 100) return "scalar";
    seen.add(found.value);
    const { type } = found.value;
    const types: unknown[] = Array.isArray(type) ? type : [type];
    if (types.includes("object") || isObject(found.value.properties)) return "object";
    if (types.includes("array") || (type === undefined && found.value.items !== undefined)) return "array";
    if (type !== undefined) return "scalar";
    const kinds = ["allOf", "anyOf", "oneOf"].flatMap((key) => items(child(found, key)).map(visit));
    return kinds.find((kind) => kind === "object") ?? kinds.find((kind) => kind === "array") ?? "scalar";
  };
  return visit(start);
}
