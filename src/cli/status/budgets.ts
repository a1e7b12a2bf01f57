// Budgets of a running gateway, one line for each caller that used one.

import type { BudgetUse } from "../../gateway/index.ts";
import { formatTime } from "../output/event.ts";
import type { Colors } from "../terminal/colors.ts";
import { count, renderRows } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

const MAX_ROWS = 10;
/** From this share on, a budget is shown in yellow. */
const NEARLY = 0.8;

export function describeBudgets(
  uses: readonly BudgetUse[],
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const rows = uses.slice(0, MAX_ROWS).map(({ budget, caller, kind, used, amount, until }) => ({
    name: `  ${plainLine(budget, 64)}, caller ${plainLine(caller, 64)}`,
    value: `${round(used)} of ${count(amount, kind === "calls" ? "call" : "cost unit")} used; the period ends at ${formatTime(until)}`,
    paint: used >= amount ? colors.red : used >= amount * NEARLY ? colors.yellow : undefined,
  }));
  const more = uses.length > MAX_ROWS ? [colors.dim(`  and ${uses.length - MAX_ROWS} more`)] : [];
  return [colors.bold("Budgets"), renderRows(rows, { colors, width }), ...more].join("\n");
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
