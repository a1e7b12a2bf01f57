// The words of a comparison: what changed, how large a step of the version that needs, and when two values are the same.

import { isObject } from "../../model/index.ts";

export type Step = "none" | "patch" | "minor" | "major";

export interface Change {
  readonly what: string;
  readonly needs: Step;
  readonly why: string;
}

export interface Difference {
  readonly needs: Step;
  readonly changes: readonly Change[];
}

export const STEPS: readonly Step[] = ["none", "patch", "minor", "major"];

export type AddChange = (what: string, needs: Step, why: string) => void;

export function conclude(changes: readonly Change[]): Difference {
  const needs = changes.reduce<Step>(
    (most, change) => (STEPS.indexOf(change.needs) > STEPS.indexOf(most) ? change.needs : most),
    "none",
  );
  return { needs, changes };
}

export function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The order of keys says nothing. */
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
