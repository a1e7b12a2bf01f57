// Schema of `gateway.budgets` and `gateway.loops`: how much callers may use tools, and how often they may repeat a call.

import { didYouMean } from "../../errors/index.ts";
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
import { callerNames } from "./approval-schema.ts";

const AMOUNT = /^\d+(\.\d+)?\s*\/\s*\d*(s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_PERIOD_MS = 366 * 86_400_000;
const BUDGET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

const TOOL_PATTERNS = "Names at the gateway, or <alias>.<tool>. * matches any text.";

const AMOUNT_HINT = "Write for example 20/m, 100/h, 500/d or 1000/30d; a period is at most 366 days.";

/** `100/h`, `500/d`, `20/30m` */
function amount(description: string, { whole }: { readonly whole: boolean }): Schema<BudgetAmount, string> {
  return text(description, {
    pattern: AMOUNT.source.replaceAll("\\/", "/"),
    kindHint: AMOUNT_HINT,
  }).transform((written, node, { diagnostics }): BudgetAmount | undefined => {
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
      AMOUNT_HINT,
    );
    return undefined;
  });
}

const BUDGET = object(
  "",
  {
    callers: list(
      "Names of callers that the budget applies to. Each caller has its own amount. Default: every caller.",
      text(),
    ),
    tools: list(`Tools that the budget applies to. ${TOOL_PATTERNS} Default: every tool.`, text()),
    calls: amount("Maximum number of calls in a period, such as 100/h or 1000/7d.", { whole: true }),
    cost: amount(
      "Maximum number of cost units in a period, such as 500/d. A DRIVER.md declares the cost units of its calls.",
      { whole: false },
    ),
    unitsPerCall: number("Cost units of a call whose driver declares none. Default: 0. Requires cost.", {
      minimum: 0,
    }),
  },
  {
    check({ cost, unitsPerCall }, at) {
      if (at.entry("calls") === undefined && at.entry("cost") === undefined)
        at.diagnostics.add(
          at.node,
          `${toLabel(at.node.path)} has neither calls nor cost`,
          "Write how much is allowed, such as calls: 100/h.",
        );
      if (unitsPerCall !== undefined && cost === undefined && at.entry("cost") === undefined)
        at.error(
          "unitsPerCall",
          "units_per_call has no effect without cost",
          "Add cost, or remove units_per_call.",
        );
    },
  },
);

export const BUDGETS = map("Limits on the number or cost of tool calls, by budget name.", BUDGET, {
  keyPattern: BUDGET_NAME.source,
});

export const LOOPS = object(
  "Loop breaker: the gateway refuses a call that a caller repeats too often with the same arguments. Default: off.",
  {
    identical: integer(
      "Maximum number of identical calls within the time. Further identical calls are refused.",
      { minimum: 1 },
    ).required(),
    withinMs: duration(
      "Time in which identical calls are counted, such as 1m. It begins with the first of these calls.",
    )
      .key("within")
      .required(),
    except: list(
      `Tools that the loop breaker does not check. Budgets and rate limits still apply to them. ${TOOL_PATTERNS}`,
      text(),
    ),
  },
);

/** Reports names of budgets that a message cannot show, and callers that do not exist: such a budget would never count. */
export function checkBudgets(
  gateway: TextNode,
  reserved: ReadonlySet<string>,
  { diagnostics }: ReadContext,
): void {
  const budgets = nodeAt(gateway, "budgets");
  if (budgets?.kind !== "object") return;
  const known = new Set([...reserved, ...callerNames(gateway)]);
  for (const { key, value } of budgets.entries) {
    if (!BUDGET_NAME.test(key))
      diagnostics.add(
        value,
        `${quoted(key)} cannot be the name of a budget`,
        'Use up to 64 letters, digits, "_", "-" and ".". Begin with a letter, a digit or "_".',
      );
    const named = nodeAt(value, "callers");
    for (const item of named?.kind === "list" ? named.items : [])
      if (item.kind === "string" && !known.has(String(item.value)))
        diagnostics.add(
          item,
          `no caller is named ${quoted(String(item.value))}`,
          didYouMean(String(item.value), known) ??
            `Write a name of gateway.callers, or ${[...reserved].join(", ")}.`,
        );
  }
}
