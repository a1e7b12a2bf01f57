// Schema of `gateway.budgets` and `gateway.loops`: how much callers may use tools, and how often they may repeat a call.

import type { BudgetAmount } from "../../model/index.ts";
import { nodeAt, quoted, type TextNode, toLabel } from "../document/index.ts";
import {
  duration,
  integer,
  list,
  map,
  number,
  object,
  type ReadContext,
  type Schema,
  text,
} from "../schema-builder/index.ts";

const AMOUNT = /^\d+(\.\d+)?\s*\/\s*\d*(s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_PERIOD_MS = 366 * 86_400_000;
const BUDGET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

const TOOL_PATTERNS = "Names that the gateway offers, or alias.tool; * stands for anything.";

/** `100/h`, `500/d`, `20/30m` */
function amount(description: string, { whole }: { readonly whole: boolean }): Schema<BudgetAmount, string> {
  return text(description, { pattern: AMOUNT.source.replaceAll("\\/", "/") }).transform(
    (written, node, { diagnostics }): BudgetAmount | undefined => {
      const [given = "", period = ""] = AMOUNT.test(written)
        ? written.split("/").map((part) => part.trim())
        : [];
      const value = Number(given);
      const periodMs = Number(period.slice(0, -1) || 1) * (UNIT_MS[period.slice(-1)] ?? 0);
      const fits = value > 0 && (!whole || Number.isSafeInteger(value));
      if (fits && periodMs > 0 && periodMs <= MAX_PERIOD_MS) return { amount: value, periodMs };
      diagnostics.add(
        node,
        `${toLabel(node.path)} must say how ${whole ? "many calls" : "much"} in which time, not ${quoted(written)}`,
        "Write for example 20/m, 100/h, 500/d or 1000/30d; a period is at most 366 days.",
      );
      return undefined;
    },
  );
}

const BUDGET = object(
  "",
  {
    callers: list("Names of callers (default: every caller); each has an amount of its own.", text()),
    tools: list(`${TOOL_PATTERNS} Default: every tool.`, text()),
    calls: amount("How many calls in which time, such as 100/h or 1000/7d.", { whole: true }),
    cost: amount("How many cost units in which time, such as 500/d; drivers declare them.", { whole: false }),
    unitsPerCall: number("Cost units of a call that declares none itself (default 0).", {
      minimum: 0,
    }),
  },
  {
    check({ cost, unitsPerCall }, at) {
      if (at.entry("calls") === undefined && at.entry("cost") === undefined)
        at.diagnostics.add(
          at.node,
          `${toLabel(at.node.path)} says neither calls nor cost`,
          "Write how much is allowed, such as calls: 100/h.",
        );
      if (unitsPerCall !== undefined && cost === undefined && at.entry("cost") === undefined)
        at.error(
          "unitsPerCall",
          "units_per_call counts only for cost",
          "Write cost, or take units_per_call out.",
        );
    },
  },
);

export const BUDGETS = map("How much each caller may use tools, by the name of the budget.", BUDGET, {
  keyPattern: BUDGET_NAME.source,
});

export const LOOPS = object("Refuses a call that a caller repeats with the same arguments.", {
  identical: integer("How many identical calls are sent within the time.", { minimum: 1 }).required(),
  withinMs: duration("The time, such as 1m.").key("within").required(),
  except: list(`Tools that may be repeated. ${TOOL_PATTERNS}`, text()),
});

/** Reports names of budgets that a message cannot show, and callers that do not exist: such a budget would never count. */
export function checkBudgets(
  gateway: TextNode,
  reserved: ReadonlySet<string>,
  { diagnostics }: ReadContext,
): void {
  const budgets = nodeAt(gateway, "budgets");
  if (budgets?.kind !== "object") return;
  const callers = nodeAt(gateway, "callers");
  const known = new Set(reserved);
  for (const caller of callers?.kind === "list" ? callers.items : []) {
    const name = nodeAt(caller, "name");
    if (name?.kind === "string") known.add(String(name.value));
  }
  for (const { key, value } of budgets.entries) {
    if (!BUDGET_NAME.test(key))
      diagnostics.add(
        value,
        `${quoted(key)} cannot be the name of a budget`,
        'Use up to 64 letters, digits, "_", "-" and ".".',
      );
    const named = nodeAt(value, "callers");
    for (const item of named?.kind === "list" ? named.items : [])
      if (item.kind === "string" && !known.has(String(item.value)))
        diagnostics.add(
          item,
          `no caller is named ${quoted(String(item.value))}`,
          `Write a name of gateway.callers, or ${[...reserved].join(", ")}.`,
        );
  }
}
