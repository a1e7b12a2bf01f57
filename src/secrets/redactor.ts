// Takes known secrets out of texts and JSON, in the forms in which they leak: as they are, base64, percent-encoded, JSON-escaped.

import { REDACTED, type Secret } from "./secret.ts";
import { createWordFinder, type WordFinder } from "./word-finder.ts";

export interface Redactor {
  /** From now on this value does not pass. Shorter than 4 characters is not registered: it would tear ordinary words apart. */
  add(secret: Secret): void;
  /** The same string when it holds no secret. */
  redactText(text: string): string;
  /** A copy with keys and strings redacted, or the same reference when there is nothing to redact. */
  redactValue<T>(value: T): T;
}

const MIN_LENGTH = 4;
/** A secret of several lines, such as a private key, is often printed line by line. */
const MIN_LINE = 8;
/** In small letters a shorter one could be an ordinary word. */
const MIN_SMALL = 12;
const MAX_DEPTH = 200;
const MAX_NODES = 1_000_000;

export function createRedactor(): Redactor {
  const values = new Set<string>();
  const forms = new Set<string>();
  let finder: WordFinder | undefined;

  const redactText = (text: string): string => {
    if (forms.size === 0 || text.length < MIN_LENGTH) return text;
    // One search for everything, so that a text without secrets costs little however many there are.
    finder ??= createWordFinder([...forms]);
    const first = finder.find(text, 0);
    return first === -1 ? text : replaceAll(text, finder, first);
  };

  return {
    add(secret) {
      const value = secret.reveal();
      if (values.has(value)) return;
      values.add(value);
      for (const form of formsOf(value)) {
        // What is part of the marker itself says nothing, and redacting it would never come to an end.
        if (form.length < MIN_LENGTH || REDACTED.includes(form) || forms.has(form)) continue;
        forms.add(form);
        finder = undefined;
      }
    },
    redactText,
    redactValue(value) {
      if (forms.size === 0) return value;
      return redactDeep(value, redactText, [], { left: MAX_NODES }) as typeof value;
    },
  };
}

function formsOf(value: string): string[] {
  const forms = [value, value.trim()];
  if (/[\r\n]/.test(value.trim()))
    forms.push(
      ...value
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .filter((line) => line.length >= MIN_LINE),
    );
  // Host names come in small letters, whoever puts a value into one.
  if (value.trim().length >= MIN_SMALL) forms.push(value.trim().toLowerCase());
  const bytes = Buffer.from(value, "utf8");
  // Without padding: found with and without it.
  forms.push(bytes.toString("base64").replace(/=+$/, ""), bytes.toString("base64url"));
  forms.push(JSON.stringify(value).slice(1, -1));
  for (const encoded of percentForms(value))
    forms.push(
      encoded,
      encoded.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    );
  return forms;
}

function percentForms(value: string): string[] {
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  try {
    const component = encodeURIComponent(value);
    const strict = component.replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    const whole = encodeURI(value);
    return [component, strict, whole, whole.replaceAll("'", "%27"), form];
  } catch {
    // A lone surrogate has no percent-encoding of its own.
    return [form];
  }
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
