// Query of a URL: the pairs of the template, and the arguments that are used nowhere else.

import { isObject, type JsonObject } from "../../model/index.ts";
import type { Run } from "../types.ts";
import {
  ArgumentError,
  asText,
  describePlaceholder,
  fillPlaceholder,
  type Placeholder,
  refuseNul,
} from "../values.ts";

export type Part = { readonly kind: "text"; readonly text: string } | Placeholder;

export function encodeValue(text: string, what: string): string {
  refuseNul(text, what);
  try {
    return encodeURIComponent(text);
  } catch {
    throw new ArgumentError(`The ${what} is not valid Unicode.`);
  }
}

export type Pair = readonly Part[];

/** The query of the template, split at every `&`. */
export function toPairs(parts: readonly Part[]): Pair[] {
  const pairs: Part[][] = [[]];
  for (const part of parts) {
    if (part.kind !== "text") {
      pairs.at(-1)?.push(part);
      continue;
    }
    for (const [index, text] of part.text.split("&").entries()) {
      if (index > 0) pairs.push([]);
      if (text !== "") pairs.at(-1)?.push({ kind: "text", text });
    }
  }
  return pairs.filter((pair) => pair.length > 0);
}

/** A pair with an absent value is left out; a pair whose only value is a list is repeated per item. */
export function fillPairs(pairs: readonly Pair[], run: Pick<Run, "args" | "headers">): string[] {
  const filled: string[] = [];
  for (const pair of pairs) {
    const values = pair.map((part) => (part.kind === "text" ? part.text : fillPlaceholder(part, run)));
    if (values.includes(undefined)) continue;
    const placeholders = pair.flatMap((part, index) => (part.kind === "text" ? [] : [index]));
    const only = placeholders.length === 1 ? values[placeholders[0] ?? 0] : undefined;
    const rounds: unknown[] = Array.isArray(only) ? only : [only];
    for (const item of rounds) {
      const written = pair.map((part, index) => {
        if (part.kind === "text") return part.text;
        return encodeValue(
          asText(placeholders.length === 1 ? item : values[index]),
          describePlaceholder(part),
        );
      });
      filled.push(written.join(""));
    }
  }
  return filled;
}

/** Lists repeat the key, nested objects make dotted keys, null is left out. */
export function toFields(args: JsonObject, under = ""): [key: string, value: string][] {
  return Object.entries(args).flatMap(([name, value]): [string, string][] => {
    const key = under + name;
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return value.map((item): [string, string] => [key, asText(item)]);
    return isObject(value) ? toFields(value, `${key}.`) : [[key, asText(value)]];
  });
}

/** Unused arguments as pairs. An argument must not repeat a key that the template fixes. */
export function leftoverPairs(args: JsonObject, fixed: ReadonlySet<string>): string[] {
  return toFields(args).map(([key, value]) => {
    if (fixed.has(key))
      throw new ArgumentError(
        `The argument "${key.slice(0, 100)}" is not allowed: the URL of this tool has a fixed value for it.`,
      );
    return `${encodeValue(key, "name of an argument")}=${encodeValue(value, `argument "${key.slice(0, 100)}"`)}`;
  });
}

/** Keys that the template itself contains. */
export function fixedKeys(pairs: readonly Pair[]): Set<string> {
  const keys = pairs.map(([first]) => (first?.kind === "text" ? (first.text.split("=")[0] ?? "") : ""));
  return new Set(keys.map(decoded).filter((key) => key !== ""));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
