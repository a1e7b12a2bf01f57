// Changes between two versions, the version step that each needs, and the comparison of values.

import { isObject } from "../../model/index.ts";
import { toFileKey } from "../define/file-format.ts";

/** The step between two semantic versions. */
export type Step = "none" | "patch" | "minor" | "major";

/** One difference between two versions, with the version step that it needs. */
export interface Change {
  readonly what: string;
  readonly needs: Step;
  readonly why: string;
}

/** All changes between two versions, and the largest version step among them. */
export interface Difference {
  readonly needs: Step;
  readonly changes: readonly Change[];
}

export const STEPS: readonly Step[] = ["none", "patch", "minor", "major"];

/** Collects the changes between two versions. */
export class Changes {
  readonly #all: Change[] = [];

  add(what: string, needs: Step, why: string): void {
    this.#all.push({ what, needs, why });
  }

  /** Adds a change unless the values are equal. */
  compare(what: string, before: unknown, after: unknown, needs: Step, why: string): void {
    if (!same(before, after)) this.add(what, needs, why);
  }

  /** Compares fields whose change needs a patch only, because the promise stays the same. */
  comparePatchFields<T>(before: T, after: T, fields: readonly (keyof T & string)[]): void {
    for (const field of fields)
      this.compare(toFileKey(field), before[field], after[field], "patch", "callers are not affected");
  }

  /** The largest step that a change needs. */
  conclude(): Difference {
    const needs = this.#all.reduce<Step>(
      (largest, change) => (STEPS.indexOf(change.needs) > STEPS.indexOf(largest) ? change.needs : largest),
      "none",
    );
    return { needs, changes: this.#all };
  }
}

export function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The order of keys does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .filter((key) => value[key] !== undefined)
      .map((key) => [key, sorted(value[key])]),
  );
}
