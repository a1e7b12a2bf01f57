// Redactor: replaces known secrets in texts and JSON values, in every form of `secret-forms.ts`.

import { REDACTED, type Secret } from "../secret.ts";
import { createEncodedFinder, type EncodedFinder } from "./encoded-finder.ts";
import { createReplacedSecrets } from "./replaced-secrets.ts";
import { formsOf, MIN_LENGTH, standAlonePattern } from "./secret-forms.ts";
import { createWordFinder, type WordFinder } from "./word-finder.ts";

export interface Redactor {
  /**
   * Redacts this value from now on. A value of 2 to 7 characters is redacted as a whole word, a single character only as a whole
   * text.
   */
  add(secret: Secret): void;
  /**
   * Redacts the values of an owner that are obtained while the program runs, such as the tokens of a login. They replace the owner's
   * earlier ones, which are redacted for 30 more minutes.
   */
  readonly replace: (owner: string, values: readonly string[]) => void;
  /** Returns the same string if it contains no secret. */
  redactText(text: string): string;
  /** Returns a copy with keys and strings redacted, or the same reference if there is nothing to redact. */
  redactValue<T>(value: T): T;
}

const MAX_DEPTH = 200;
const MAX_NODES = 1_000_000;

export function createRedactor(): Redactor {
  /** Values that are redacted for good. */
  const permanent = new Set<string>();
  /** All values, with the number of reasons to redact them. */
  const values = new Map<string, number>();
  /** Forms that are redacted wherever they stand, with the number of values that have them. */
  const forms = new Map<string, number>();
  /** Forms that are redacted as whole words only, because parts of ordinary words would match. */
  const short = new Map<string, number>();
  const shortValues = new Map<string, number>();
  // One search covers all secrets, so that a text without secrets is cheap however many there are.
  let finder: WordFinder | undefined;
  let alone: RegExp | undefined;
  let encoded: EncodedFinder | undefined;

  /** Adds the value, or takes it away again. */
  const change = (value: string, by: 1 | -1): void => {
    if (!count(values, value, by)) return;
    const trimmed = value.trim();
    if (trimmed === "") return;
    for (const form of new Set(formsOf(value))) {
      const inner = form.trim();
      // The white space around a short value does not make it a rare one.
      if (inner.length < MIN_LENGTH) changeShort(short, inner, by);
      // A part of the marker reveals nothing, and redacting it would never end.
      else if (!REDACTED.includes(form) && count(forms, form, by)) {
        finder ??= createWordFinder();
        if (by === 1) finder.add(form);
        else finder.delete(form);
      }
    }
    if (trimmed.length < MIN_LENGTH) changeShort(shortValues, trimmed, by);
  };
  const changeShort = (known: Map<string, number>, text: string, by: 1 | -1): void => {
    if (text === "" || !count(known, text, by)) return;
    alone = undefined;
    encoded = undefined;
  };
  const replaced = createReplacedSecrets({
    add: (value) => change(value, 1),
    forget: (value) => change(value, -1),
  });

  const redactLong = (text: string): string => {
    if (finder === undefined || text.length < MIN_LENGTH) return text;
    const first = finder.find(text, 0);
    return first === -1 ? text : replaceAll(text, finder, first);
  };
  const redactText = (text: string): string => {
    const clean = redactLong(text);
    if (short.size === 0) return clean;
    if (short.has(clean.trim())) return REDACTED;
    alone ??= standAlonePattern([...short.keys()].filter((form) => form.length > 1));
    encoded ??= createEncodedFinder([...shortValues.keys()]);
    return encoded.redact(alone === undefined ? clean : clean.replace(alone, REDACTED));
  };

  return {
    add(secret) {
      const value = secret.reveal();
      if (permanent.has(value)) return;
      permanent.add(value);
      change(value, 1);
    },
    replace: (owner, given) => replaced.replace(owner, given),
    redactText,
    redactValue(value) {
      if (forms.size + short.size === 0) return value;
      return redactDeep(value, redactText, [], { left: MAX_NODES }) as typeof value;
    },
  };
}

/** Counts one more or one less of the key. True if it is new, or gone. */
function count(counts: Map<string, number>, key: string, by: 1 | -1): boolean {
  const before = counts.get(key) ?? 0;
  if (before + by === 0) counts.delete(key);
  else counts.set(key, before + by);
  return before === 0 || before + by === 0;
}

/** Secrets may overlap, so the union of all matches is replaced. */
function replaceAll(text: string, finder: WordFinder, first: number): string {
  let out = text.slice(0, first);
  let end = finder.end();
  for (let start = finder.find(text, first + 1); start !== -1; start = finder.find(text, start + 1)) {
    if (start > end) out += REDACTED + text.slice(end, start);
    end = Math.max(end, finder.end());
  }
  return out + REDACTED + text.slice(end);
}

/** Redacts a whole value that is past a bound instead of showing it unchecked. `above` is the list of its ancestors. */
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
