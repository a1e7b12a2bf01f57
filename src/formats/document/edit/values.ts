// Plain data from a file: looked up, compared and changed by path, own properties only.

import { isObject } from "../../../model/index.ts";
import type { Path } from "../node.ts";

export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    if (Array.isArray(at) && typeof step === "number") at = at[step];
    else if (isObject(at) && Object.hasOwn(at, step)) at = at[step];
    else return undefined;
  }
  return at;
}

/** Equal as JSON: the order of keys and the kind of object do not count. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  if (a instanceof Date && b instanceof Date) return a.valueOf() === b.valueOf();
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]))
  );
}

/** One change of a file: sets the value at a path, or removes it if no value is given. */
export interface Change {
  readonly path: Path;
  readonly value?: unknown;
}

/** The value after the change. Values on the way that are no objects are replaced by objects. */
export function applyChange(value: unknown, { path, value: wanted }: Change): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return wanted;
  if (typeof step === "number" && (Array.isArray(value) || value == null)) {
    const items: unknown[] = [...((value ?? []) as unknown[])];
    if (wanted === undefined && rest.length === 0) items.splice(step, 1);
    else items[step] = applyChange(items[step], { path: rest, value: wanted });
    return items;
  }
  if (wanted === undefined && valueAt(value, [step]) === undefined) return value;
  const entries = new Map(isObject(value) ? Object.entries(value) : []);
  const key = String(step);
  if (wanted === undefined && rest.length === 0) entries.delete(key);
  else entries.set(key, applyChange(entries.get(key), { path: rest, value: wanted }));
  return Object.fromEntries(entries);
}

/** A value inside of objects and lists that do not exist yet. */
export function nest(path: Path, value: unknown): unknown {
  return path.reduceRight<unknown>(
    (inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }),
    value,
  );
}
