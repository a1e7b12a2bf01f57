// Counters of budgets: how much each caller used in its current period. A period begins with the first call in it.

import type { BudgetAmount } from "../../model/index.ts";

export type BudgetKind = "calls" | "cost";

/** Which budget counts which caller. */
export interface CounterName {
  readonly budget: string;
  readonly kind: BudgetKind;
  readonly caller: string;
}

/** The use of one period. Times are milliseconds since 1970, because a period may last longer than the process. */
export interface CounterState extends CounterName {
  readonly since: number;
  readonly periodMs: number;
  readonly used: number;
}

interface Counter extends CounterName {
  since: number;
  periodMs: number;
  used: number;
  /** The part of `used` that is not in the file yet. */
  unsaved: number;
  /** True when the period has had its event. */
  isReported: boolean;
}

/** The callers of an OAuth issuer are not known before; the counter that was unused for the longest time makes room. */
const MAX_COUNTERS = 10_000;

export class Counters {
  readonly #now: () => number;
  readonly #counters = new Map<string, Counter>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The current period. It is empty if nothing was counted in it. */
  read(name: CounterName, { periodMs }: BudgetAmount): CounterState {
    return this.#counters.has(keyOf(name))
      ? this.#current(name, periodMs)
      : { ...name, since: this.#now(), periodMs, used: 0 };
  }

  /** A negative amount takes an earlier one back, in the same period. */
  add(name: CounterName, { periodMs }: BudgetAmount, amount: number): void {
    const counter = this.#current(name, periodMs);
    const change = Math.max(amount, -counter.used);
    counter.used += change;
    counter.unsaved += change;
  }

  /** True for the first refusal of a period. */
  isFirstRefusal(name: CounterName, { periodMs }: BudgetAmount): boolean {
    const counter = this.#current(name, periodMs);
    if (counter.isReported) return false;
    counter.isReported = true;
    return true;
  }

  /** The periods that have not ended. */
  get states(): readonly CounterState[] {
    const now = this.#now();
    return [...this.#counters.values()]
      .filter(({ since, periodMs, used }) => now < since + periodMs && used > 0)
      .map(({ budget, kind, caller, since, periodMs, used }) => ({
        budget,
        kind,
        caller,
        since,
        periodMs,
        used,
      }));
  }

  /**
   * Adds what other processes saved to the counters, and returns the sum, to be saved. Each process adds only what it counted itself
   * since it saved last, so that several gateways of one workspace share their budgets.
   */
  merge(saved: readonly CounterState[]): readonly CounterState[] {
    const now = this.#now();
    for (const state of saved) {
      if (now >= state.since + state.periodMs) continue;
      const own = this.#counters.get(keyOf(state));
      const isOver = own === undefined || now >= own.since + own.periodMs;
      if (isOver) this.#set({ ...state, unsaved: 0, isReported: false });
      else {
        own.used = state.used + own.unsaved;
        own.since = Math.min(own.since, state.since);
      }
    }
    for (const counter of this.#counters.values()) counter.unsaved = 0;
    return this.states;
  }

  #current(name: CounterName, periodMs: number): Counter {
    const now = this.#now();
    const known = this.#counters.get(keyOf(name));
    if (known === undefined || now >= known.since + periodMs)
      return this.#set({ ...name, since: now, periodMs, used: 0, unsaved: 0, isReported: false });
    known.periodMs = periodMs;
    // The clock was set back: the period must not become longer.
    known.since = Math.min(known.since, now);
    return this.#set(known);
  }

  /** A Map keeps the order of insertion, so that the first counter is the one that was unused for the longest time. */
  #set(counter: Counter): Counter {
    const key = keyOf(counter);
    this.#counters.delete(key);
    this.#counters.set(key, counter);
    if (this.#counters.size > MAX_COUNTERS)
      this.#counters.delete(this.#counters.keys().next().value as string);
    return counter;
  }
}

function keyOf({ budget, kind, caller }: CounterName): string {
  return `${budget}\n${kind}\n${caller}`;
}
