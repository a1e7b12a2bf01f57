// Budgets: how much each caller used, beside the activity that uses them. Nothing is shown without budgets.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import type { BudgetUse } from "../types.ts";
import { formatUntil } from "../ui/format.ts";

const REFRESH_MS = 5_000;
const SHOWN = 20;

export function BudgetUses(): JSX.Element | null {
  const uses = useSignal<readonly BudgetUse[]>([]);
  useEffect(() => {
    const load = (): void =>
      void call<{ budgets: BudgetUse[] }>("budgets").then(
        ({ budgets }) => (uses.value = budgets),
        () => {},
      );
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  if (uses.value.length === 0) return null;
  return (
    <section class="card">
      <h2>Budgets</h2>
      <ul class="bars">
        {uses.value.slice(0, SHOWN).map(({ budget, kind, caller, used, amount, until }) => {
          const text = `${used.toLocaleString("en")} of ${amount.toLocaleString("en")} ${kind === "calls" ? "calls" : "cost units"}`;
          return (
            <li key={`${budget} ${kind} ${caller}`}>
              <span>
                {budget} · {caller}
              </span>
              <meter
                min={0}
                max={amount}
                high={0.8 * amount}
                optimum={0}
                value={used}
                aria-label={`${budget} of ${caller}: ${text}`}
              />
              <span class="amount">{text}</span>
              <span class="muted">period ends {formatUntil(until)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
