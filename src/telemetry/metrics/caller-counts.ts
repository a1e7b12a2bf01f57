// Tool calls by caller and outcome, for `/metrics`. A call costs one Map lookup.

import type { Outcome } from "../record.ts";
import type { Gauge } from "./registry.ts";

/** People who sign in with OAuth have names of their own: so many of them are remembered. */
const MAX_NAMES = 2_000;

type Counts = Partial<Record<Outcome, number>>;

export class CallerCounts {
  /** By the name of the caller in call records. Several names can have the same counts. */
  readonly #byName = new Map<string, Counts>();
  readonly #byLabel = new Map<string, Counts>();

  count(caller: string, outcome: Outcome): void {
    const counts = this.#byName.get(caller) ?? this.#find(caller);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }

  toGauge(): Gauge {
    return {
      name: "portolan_calls_total",
      help: "Tool calls by caller and outcome.",
      type: "counter",
      samples: [...this.#byLabel].flatMap(([caller, counts]) =>
        Object.entries(counts).map(([outcome, value]) => ({ labels: { caller, outcome }, value })),
      ),
    };
  }

  #find(caller: string): Counts {
    const label = labelOf(caller);
    let counts = this.#byLabel.get(label);
    if (counts === undefined) this.#byLabel.set(label, (counts = {}));
    if (this.#byName.size >= MAX_NAMES) this.#byName.clear();
    this.#byName.set(caller, counts);
    return counts;
  }
}

/** A person is `<caller>|oauth:<issuer>|<subject>`, or `oauth:<issuer>|<subject>` without a rule. The number of labels stays small. */
function labelOf(caller: string): string {
  if (caller.startsWith("oauth:")) return "oauth";
  const end = caller.indexOf("|");
  return end === -1 ? caller : caller.slice(0, end);
}
