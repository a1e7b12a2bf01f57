// Where two JSON values part: the first place, and what is there on each side.

import { isObject } from "../model/index.ts";
import { plainLine, toJsonText } from "./plain-text.ts";

/** `$.lines[2]: expected "a", got "b"` */
export function firstDifference(expected: unknown, got: unknown, path = "$"): string {
  if (Array.isArray(expected) && Array.isArray(got)) {
    const length = Math.max(expected.length, got.length);
    for (let index = 0; index < length; index += 1)
      if (!same(expected[index], got[index]))
        return firstDifference(expected[index], got[index], `${path}[${index}]`);
  }
  if (isObject(expected) && isObject(got))
    for (const key of new Set([...Object.keys(expected), ...Object.keys(got)]))
      if (!same(expected[key], got[key])) return firstDifference(expected[key], got[key], `${path}.${key}`);
  return `${plainLine(path, 200)}: expected ${shown(expected)}, got ${shown(got)}`;
}

function same(a: unknown, b: unknown): boolean {
  return a === b || toJsonText(a) === toJsonText(b);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : plainLine(toJsonText(value), 200);
}
