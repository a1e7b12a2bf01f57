// Matcher for an untrusted pattern: in linear time where possible, otherwise marked as `wild`.

import type { RE2JS } from "re2js";
import { toRe2 } from "./to-re2.ts";

export interface Matcher {
  readonly source: string;
  /** True if a match may take more than linear time, or linear time with a large factor. It must run within a budget. */
  readonly wild: boolean;
  test(text: string): boolean;
  /** Drops the compiled form, which may be inconsistent after a budget stopped it. */
  reset(): void;
}

type Engine = { test(text: string): boolean };

/** Above this number of copies of a part, or characters of source, RE2's linear time has a large factor. */
const MOST_COPIES = 100;
const MOST_CHARACTERS = 1000;

/**
 * JSON Schema patterns are ECMAScript with flag u. A pattern that JavaScript refuses was most likely written for another engine
 * (`(?i)`, `\A`, `\-`), and RE2 supports those. Returns undefined if no engine supports the pattern.
 */
export function createMatcher(source: string, re2: typeof RE2JS): Matcher | undefined {
  const native = isEcmaScript(source);
  const heavy = isHeavy(source);
  const compile = (): Engine | undefined =>
    attempt(() => linear(native ? toRe2(source) : source, re2)) ??
    (native ? new RegExp(source, "u") : undefined);
  // A heavy pattern may also take long to compile, so the first test compiles it within its budget.
  let engine = heavy ? undefined : compile();
  if (engine === undefined && !(heavy && native)) return undefined;
  return {
    source,
    wild: heavy || engine instanceof RegExp,
    // A RegExp without the g flag has no state between tests.
    test: (text) => (engine ??= compile())?.test(text) ?? true,
    reset: () => {
      engine = undefined;
    },
  };
}

/** Returns true if JavaScript supports the pattern, as `patternProperties` requires. */
export function isEcmaScript(source: string): boolean {
  return attempt(() => new RegExp(source, "u")) !== undefined;
}

function linear(source: string | undefined, re2: typeof RE2JS): Engine | undefined {
  return source === undefined ? undefined : re2.compile(source);
}

function attempt<T>(compile: () => T): T | undefined {
  try {
    return compile();
  } catch {
    return undefined;
  }
}

/** Returns true if the compilation may take long. */
export function isHeavy(source: string): boolean {
  if (source.length > MOST_CHARACTERS) return true;
  let copies = 1;
  for (const [, least, most] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    copies *= Math.max(1, Number(most || least));
  return copies > MOST_COPIES;
}
