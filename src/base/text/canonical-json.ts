// Canonical JSON (RFC 8785): one text for one value, whatever the order of its keys, so that its hash can be compared.

import { quoteJson } from "./write-json.ts";

/** Deeper values are refused, because a hash of them would need a deep stack. */
const MAX_DEPTH = 128;

/**
 * Returns undefined for a value that has no canonical form: a number that is not finite, a text with half of a
 * surrogate pair, or a value that is nested too deeply. Properties that are undefined are left out, as in JSON.
 */
export function toCanonicalJson(value: unknown, depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : undefined;
  if (typeof value === "string") return value.isWellFormed() ? quoteJson(value) : undefined;
  if (typeof value !== "object") return undefined;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) {
      const text = toCanonicalJson(item, depth + 1);
      if (text === undefined) return undefined;
      parts.push(text);
    }
    return `[${parts.join(",")}]`;
  }
  const object = value as Readonly<Record<string, unknown>>;
  // The order of UTF-16 code units, as the standard demands and `sort` does.
  for (const key of Object.keys(object).sort()) {
    if (object[key] === undefined) continue;
    const text = toCanonicalJson(object[key], depth + 1);
    if (text === undefined || !key.isWellFormed()) return undefined;
    parts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${parts.join(",")}}`;
}
