// Tool results for calls that a budget or the loop breaker refuses: errors that a model can read and act on.

import { NOT_MADE } from "../../errors/index.ts";
import type { BudgetAmount, JsonObject } from "../../model/index.ts";
import type { BudgetKind } from "./counters.ts";

export interface BudgetRefusal {
  readonly budget: string;
  readonly kind: BudgetKind;
  readonly amount: BudgetAmount;
  readonly used: number;
  /** Cost units that the call needs. */
  readonly units?: number;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** True for a call that needs more than the whole budget. */
export function isNeverPossible({ amount, units }: Pick<BudgetRefusal, "amount" | "units">): boolean {
  return units !== undefined && units > amount.amount;
}

export function budgetText({ budget, kind, amount, used, units, until }: BudgetRefusal, now: number): string {
  const noun = kind === "calls" ? "calls" : "cost units";
  const need = units === undefined ? "" : ` and this call needs ${round(units)}`;
  const state = units === undefined || used >= amount.amount ? "is used up" : "has too little left";
  const again = isNeverPossible({ amount, units })
    ? "This call needs more than the whole budget, so it is never possible. Do not repeat it: "
    : `${units === undefined ? "Calls are" : "This call is"} possible again at ${formatUntil(until, now)}. Do not repeat the call before that: `;
  return (
    `This call was not sent: the budget "${budget}" ${state}. ` +
    `${round(used)} of ${round(amount.amount)} ${noun} in ${formatPeriod(amount.periodMs)} are used${need}. ` +
    `${again}continue without the call, or tell the user. ` +
    `The operator sets this limit in portolan.yaml, gateway.budgets.${budget}.`
  );
}

export function loopText(
  { tool, calls, until }: { readonly tool: string; readonly calls: number; readonly until: number },
  withinMs: number,
  now: number,
): string {
  return (
    `This call was not sent: it repeats an earlier call. ${tool} was called ${calls === 1 ? "once" : `${calls} times`} ` +
    `with the same arguments within ${formatPeriod(withinMs)}. ` +
    "Use the earlier result, change the arguments, or do something else. " +
    `The same call is possible again at ${formatUntil(until, now)}. ` +
    "The operator sets this limit in portolan.yaml, gateway.loops."
  );
}

export function refusalResult(
  code: "over_budget" | "loop",
  message: string,
  retryAfterMs: number | undefined,
): JsonObject {
  const retryable = retryAfterMs !== undefined;
  const same = { errorCode: "RATE_LIMITED", hint: NOT_MADE, neverRan: true } as const;
  return {
    content: [{ type: "text", text: message }],
    isError: true,
    _meta: { "portolan/error": { code, message, retryable, retryAfterMs, ...same } },
  };
}

/** `2026-03-01T14:05:09Z (in 23 minutes)` */
function formatUntil(until: number, now: number): string {
  const time = new Date(until).toISOString().replace(/\.\d+Z$/, "Z");
  return `${time} (in ${formatPeriod(Math.max(1_000, until - now))})`;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** `1 hour`, `30 minutes`, `23 minutes`: in the largest unit that is not rounded by more than a tenth, never too short. */
export function formatPeriod(ms: number): string {
  const [noun, size] = UNITS.find(([, unit]) => ms >= unit && (Math.ceil(ms / unit) * unit) / ms <= 1.1) ?? [
    "second",
    1_000,
  ];
  const times = Math.ceil(ms / size);
  return `${times} ${noun}${times === 1 ? "" : "s"}`;
}

/** Sums of fractions have rounding errors, which say nothing. */
function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
