// A pattern from a stranger as a yes-or-no test: in linear time wherever that is possible, marked as wild where it is not.

import type { RE2JS } from "re2js";
import { toRe2 } from "./to-re2.ts";

export interface Matcher {
  readonly source: string;
  /** May take more than linear time, or linear time with a large factor: run it within a budget only. */
  readonly wild: boolean;
  test(text: string): boolean;
  /** Forgets the compiled form, which may be half-changed after a budget stopped it at work. */
  reset(): void;
}

type Engine = { test(text: string): boolean };

/** Above this many copies of a part, or characters of source, RE2's linear time has a factor that hurts. */
const MOST_COPIES = 100;
const MOST_CHARACTERS = 1000;

/**
 * JSON Schema patterns are ECMAScript with flag u. One that JavaScript refuses was most likely written for another engine
 * (`(?i)`, `\A`, `\-`); RE2 reads those as their authors meant them. Undefined: no engine takes it.
 */
export function createMatcher(source: string, re2: typeof RE2JS): Matcher | undefined {
  const native = isEcmaScript(source);
  const heavy = isHeavy(source);
  const compile = (): Engine | undefined =>
    attempt(() => linear(native ? toRe2(source) : source, re2)) ??
    (native ? new RegExp(source, "u") : undefined);
  // A heavy pattern may take long to compile as well: that, too, is left to the first test, which runs within a budget.
  let engine = heavy ? undefined : compile();
  if (engine === undefined && !(heavy && native)) return undefined;
  return {
    source,
    wild: heavy || engine instanceof RegExp,
    // A RegExp without the g flag keeps no state between tests.
    test: (text) => (engine ??= compile())?.test(text) ?? true,
    reset: () => {
      engine = undefined;
    },
  };
}

/** True when JavaScript itself takes the pattern, as `patternProperties` needs. */
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

/** True when it may take long even to compile. */
export function isHeavy(source: string): boolean {
  if (source.length > MOST_CHARACTERS) return true;
  let copies = 1;
  for (const [, least, most] of source.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    copies *= Math.max(1, Number(most || least));
  return copies > MOST_COPIES;
}
