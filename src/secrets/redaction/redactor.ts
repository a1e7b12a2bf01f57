// Removes known secrets from texts and JSON, in every form of `secret-forms.ts`.

import { REDACTED, type Secret } from "../secret.ts";
import { formsOf, MIN_LENGTH, standAlonePattern } from "./secret-forms.ts";
import { createWordFinder, type WordFinder } from "./word-finder.ts";

export interface Redactor {
  /** From now on this value does not pass. Values of 2 and 3 characters are removed where they stand alone, single ones where they are all. */
  add(secret: Secret): void;
  /** The same string when it holds no secret. */
  redactText(text: string): string;
  /** A copy with keys and strings redacted, or the same reference when there is nothing to redact. */
  redactValue<T>(value: T): T;
}

const MAX_DEPTH = 200;
const MAX_NODES = 1_000_000;

export function createRedactor(): Redactor {
  const values = new Set<string>();
  const forms = new Set<string>();
  /** Forms of short secrets: as parts of words they would tear ordinary texts apart. */
  const short = new Set<string>();
  let finder: WordFinder | undefined;
  let alone: RegExp | undefined;

  const redactLong = (text: string): string => {
    if (forms.size === 0 || text.length < MIN_LENGTH) return text;
    // One search for everything, so that a text without secrets costs little however many there are.
    finder ??= createWordFinder([...forms]);
    const first = finder.find(text, 0);
    return first === -1 ? text : replaceAll(text, finder, first);
  };
  const redactText = (text: string): string => {
    const clean = redactLong(text);
    if (short.size === 0) return clean;
    if (short.has(clean.trim())) return REDACTED;
    alone ??= standAlonePattern([...short].filter((form) => form.length > 1));
    return alone === undefined ? clean : clean.replace(alone, REDACTED);
  };

  return {
    add(secret) {
      const value = secret.reveal();
      if (values.has(value)) return;
      values.add(value);
      const trimmed = value.trim();
      const isShort = value.length < MIN_LENGTH;
      for (const form of formsOf(value)) {
        // What is part of the marker itself says nothing, and redacting it would never come to an end.
        if (isShort || form.length < MIN_LENGTH || REDACTED.includes(form)) continue;
        forms.add(form);
        finder = undefined;
      }
      if (trimmed === "" || trimmed.length >= MIN_LENGTH) return;
      for (const form of formsOf(trimmed)) if (form !== "") short.add(form);
      alone = undefined;
    },
    redactText,
    redactValue(value) {
      if (forms.size + short.size === 0) return value;
      return redactDeep(value, redactText, [], { left: MAX_NODES }) as typeof value;
    },
  };
}

/** Secrets may overlap; what any of them covers is taken out, not only what the first one does. */
function replaceAll(text: string, finder: WordFinder, first: number): string {
  let out = text.slice(0, first);
  let end = finder.end();
  for (let start = finder.find(text, first + 1); start !== -1; start = finder.find(text, start + 1)) {
    if (start > end) out += REDACTED + text.slice(end, start);
    end = Math.max(end, finder.end());
  }
  return out + REDACTED + text.slice(end);
}

/** Past a bound nothing is shown rather than something unchecked. `above` holds what the value stands in. */
function redactDeep(
  value: unknown,
  redactText: (text: string) => string,
  above: object[],
  budget: { left: number },
): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  budget.left -= 1;
  if (budget.left < 0 || above.length > MAX_DEPTH || above.includes(value)) return REDACTED;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  above.push(value);
  const inner = (part: unknown): unknown => redactDeep(part, redactText, above, budget);
  const clean = Array.isArray(value)
    ? redactArray(value, inner)
    : redactObject(value as Readonly<Record<string, unknown>>, redactText, inner);
  above.pop();
  return clean;
}

function redactArray(value: readonly unknown[], inner: (part: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < value.length; index += 1) {
    const clean = inner(value[index]);
    if (Object.is(clean, value[index])) continue;
    copy ??= value.slice();
    copy[index] = clean;
  }
  return copy ?? value;
}

function redactObject(
  value: Readonly<Record<string, unknown>>,
  redactText: (text: string) => string,
  inner: (part: unknown) => unknown,
): object {
  const keys = Object.keys(value);
  let entries: [string, unknown][] | undefined;
  for (const [index, key] of keys.entries()) {
    const cleanKey = redactText(key);
    const clean = inner(value[key]);
    if (entries === undefined && (cleanKey !== key || !Object.is(clean, value[key])))
      entries = keys.slice(0, index).map((before) => [before, value[before]]);
    entries?.push([cleanKey, clean]);
  }
  return entries === undefined ? value : Object.fromEntries(entries);
}
