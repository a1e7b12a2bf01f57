// Refused tool calls by decision and rule, for `/metrics`.

import type { Decision } from "../record.ts";
import type { Gauge } from "./registry.ts";

const REFUSED: ReadonlySet<Decision["kind"]> = new Set(["refused", "over_budget", "loop"]);

export class RefusalCounts {
  readonly #samples = new Map<string, { readonly labels: Record<string, string>; value: number }>();

  count(decision: Decision): void {
    if (!REFUSED.has(decision.kind)) return;
    const rule = ruleOf(decision);
    const key = `${decision.kind} ${rule}`;
    const known = this.#samples.get(key);
    if (known === undefined) this.#samples.set(key, { labels: { decision: decision.kind, rule }, value: 1 });
    else known.value += 1;
  }

  toGauge(): Gauge {
    return {
      name: "portolan_refused_calls_total",
      help: "Tool calls that the rules of a caller, pins, a budget or the loop breaker refused.",
      type: "counter",
      samples: [...this.#samples.values()],
    };
  }
}

/** The key of an access rule, such as `deny.tools`, without its entries: the number of labels stays small. */
function ruleOf({ kind, rule = "", by = "" }: Decision): string {
  return kind === "refused" ? rule.split(":", 1)[0] || by : rule;
}
