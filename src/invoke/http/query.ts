// The query of a URL: pairs of the template, and arguments that were used nowhere else.

import { isObject, type JsonObject } from "../../model/index.ts";
import { Refusal } from "../refusal.ts";
import type { Run } from "../types.ts";
import { asText, fillGap, whatGap } from "../values.ts";
import { encodeValue, type Part } from "./encode.ts";

export type Pair = readonly Part[];

/** The template's query cut at every `&` that its author wrote. */
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

/** A pair of which a value is absent is left out; one whose only value is a list is repeated for each item. */
export function fillPairs(pairs: readonly Pair[], run: Pick<Run, "args" | "headers">): string[] {
  const filled: string[] = [];
  for (const pair of pairs) {
    const values = pair.map((part) => (part.kind === "text" ? part.text : fillGap(part, run)));
    if (values.includes(undefined)) continue;
    const gaps = pair.flatMap((part, index) => (part.kind === "text" ? [] : [index]));
    const only = gaps.length === 1 ? values[gaps[0] ?? 0] : undefined;
    const rounds: unknown[] = Array.isArray(only) ? only : [only];
    for (const item of rounds) {
      const written = pair.map((part, index) => {
        if (part.kind === "text") return part.text;
        return encodeValue(asText(gaps.length === 1 ? item : values[index]), whatGap(part));
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

/** Fields as pairs; what the template fixes cannot be said again by an argument. */
export function leftoverPairs(args: JsonObject, fixed: ReadonlySet<string>): string[] {
  return toFields(args).map(([key, value]) => {
    if (fixed.has(key)) throw new Refusal(`The URL of this tool fixes "${key.slice(0, 100)}" already.`);
    return `${encodeValue(key, "name of an argument")}=${encodeValue(value, `argument "${key.slice(0, 100)}"`)}`;
  });
}

/** Keys whose value the template's author wrote. */
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
