// Untrusted values and names in messages: short, quoted, and without control characters.

import { suggest } from "../errors/index.ts";

const LONGEST_VALUE = 60;
const LONGEST_LIST = 8;
/** Control characters beyond ASCII, direction marks and line breaks, which JSON does not escape. */
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Describes a value: `string "x"`, `number 5`, `array`. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "object") return "object";
  return `${typeof value} ${quote(value)}`;
}

/** Returns a value as JSON of limited length. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    const cut = value.length > LONGEST_VALUE;
    const text = JSON.stringify(cut ? value.slice(0, LONGEST_VALUE) : value).replace(UNSEEN, escapeUnit);
    return cut || text.length > LONGEST_VALUE + 20 ? `${text.slice(0, LONGEST_VALUE)}…"` : text;
  }
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0 ? "{}" : "{…}";
  return String(value);
}

/** Returns `"a", "b" or "c"`. A long list ends with the number of further names. */
export function alternatives(items: readonly string[]): string {
  if (items.length > LONGEST_LIST)
    return `${items.slice(0, LONGEST_LIST).join(", ")} or ${items.length - LONGEST_LIST} more`;
  return items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;
}

/** Returns untrusted text on one line of limited length. */
export function clip(text: string, length = 160): string {
  const line = (text.slice(0, length * 4).split("\n", 1)[0] ?? "").replace(UNSEEN, escapeUnit);
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Returns the most similar name, or undefined. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  return suggest(name, candidates, 1)[0];
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
