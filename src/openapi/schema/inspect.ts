// Facts about a schema of a description before its conversion: the kind of its values, and the properties that one direction does
// not have (`readOnly` ones are never sent, `writeOnly` ones are never returned).

import { isObject } from "../../model/index.ts";
import { child, follow, items, members, refOf, type Spec } from "../document/document.ts";
import { type At, Unusable } from "../types.ts";

export type Direction = "input" | "output";

/** Takes the cost of reading other schemas from the budget. */
type Spend = (amount: number, at: At) => void;

export function isHidden(spec: Spec, at: At, direction: Direction): boolean {
  const word = direction === "input" ? "readOnly" : "writeOnly";
  if (isObject(at.value) && at.value[word] === true) return true;
  if (refOf(at.value) === undefined) return false;
  const { value } = safely(spec, at);
  return isObject(value) && value[word] === true;
}

/** Names that are hidden in a schema or in a part of its `allOf`: no part may require them. */
export function hiddenNames(spec: Spec, start: At, direction: Direction, spend: Spend): ReadonlySet<string> {
  const names = new Set<string>();
  eachPart(spec, start, (part) => {
    const properties = members(child(part, "properties"));
    spend(1 + properties.length, part);
    for (const { key, at } of properties) if (isHidden(spec, at, direction)) names.add(key);
  });
  return names;
}

/** True when the schema or a part of its `allOf` requires one of the names. */
export function requiresAny(spec: Spec, start: At, names: ReadonlySet<string>, spend: Spend): boolean {
  let found = false;
  eachPart(spec, start, (part) => {
    spend(1, part);
    const { value } = child(part, "required");
    if (Array.isArray(value) && value.some((name) => names.has(name as string))) found = true;
  });
  return found;
}

function eachPart(spec: Spec, start: At, use: (part: At) => void): void {
  const seen = new Set<unknown>();
  const visit = (at: At): void => {
    const part = safely(spec, at);
    if (!isObject(part.value) || seen.has(part.value) || seen.size > 200) return;
    seen.add(part.value);
    use(part);
    for (const item of items(child(part, "allOf"))) visit(item);
  };
  visit(start);
}

/** A broken reference is reported where it is converted, not here. */
function safely(spec: Spec, at: At): At {
  try {
    return follow(spec, at);
  } catch (thrown) {
    if (thrown instanceof Unusable) return { value: undefined, path: at.path };
    throw thrown;
  }
}

type Kind = "scalar" | "array" | "object";

/** Returns `array` or `object` if any alternative is one, because a request must be able to send that one too. */
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
