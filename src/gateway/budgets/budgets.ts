// Budgets and loop breaker of a gateway, as a check of every tool call. Without settings for them, no call is checked.

import { hash } from "node:crypto";
import { toWildcard } from "../../base/text/wildcard.ts";
import type { Report } from "../../errors/index.ts";
import type { CallCheck, EventBus, Hub, RoutedCall, ViewTool } from "../../hub/index.ts";
import type { BudgetAmount, GatewayBudget, GatewaySettings, JsonObject } from "../../model/index.ts";
import { argumentDigest } from "../../telemetry/index.ts";
import type { Call } from "../../upstream/index.ts";
import { CounterFile } from "./counter-file.ts";
import { type BudgetKind, type CounterName, Counters } from "./counters.ts";
import { LoopBreaker, type OpenCall } from "./loop-breaker.ts";
import { type BudgetRefusal, budgetText, isNeverPossible, loopText, refusalResult } from "./refusal.ts";

export interface BudgetsOptions {
  readonly hub: Pick<Hub, "checks">;
  readonly events: EventBus;
  readonly report: Report;
  /** Where counters are kept; undefined: they end with the gateway. */
  readonly file: string | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** How much of a budget a caller used in its current period. */
export interface BudgetUse {
  readonly budget: string;
  readonly kind: BudgetKind;
  readonly caller: string;
  readonly used: number;
  readonly amount: number;
  readonly periodMs: number;
  /** ISO time of the end of the period. */
  readonly until: string;
}

/** A budget that counts a call. */
interface Rule extends GatewayBudget {
  readonly name: string;
  readonly counts: (caller: string, tool: ViewTool) => boolean;
}

/** The account of calls that come from no caller of the gateway. */
const OWNER = "local";

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #now: () => number;
  readonly #counters: Counters;
  readonly #loops: LoopBreaker;
  readonly #file: CounterFile | undefined;
  #rules: readonly Rule[] = [];
  #settings: Pick<GatewaySettings, "budgets" | "loops"> = {};
  #isExempt: (tool: ViewTool) => boolean = () => false;
  #remove: (() => void) | undefined;

  constructor(options: BudgetsOptions) {
    const { file, report, now = Date.now } = options;
    this.#options = options;
    this.#now = now;
    this.#counters = new Counters(now);
    this.#loops = new LoopBreaker(now);
    if (file !== undefined) this.#file = new CounterFile({ file, counters: this.#counters, report });
  }

  /** Uses other settings. Amounts that were used stay used: a budget is known by its name. */
  async use(settings: Pick<GatewaySettings, "budgets" | "loops">): Promise<void> {
    const { budgets = {}, loops } = settings;
    const rules = Object.entries(budgets).map(([name, budget]) => toRule(name, budget));
    // The counters of an earlier gateway are read when the first budget appears.
    if (rules.length > 0 && this.#rules.length === 0) await this.#file?.save();
    this.#settings = settings;
    this.#rules = rules;
    this.#isExempt = toolTest(loops?.except ?? []);
    const isNeeded = rules.length > 0 || loops !== undefined;
    if (isNeeded) this.#remove ??= this.#options.hub.checks.add(this.#check);
    else {
      this.#remove?.();
      this.#remove = undefined;
    }
  }

  /** The budgets that were used, the fullest first. */
  get uses(): readonly BudgetUse[] {
    return this.#counters.states
      .flatMap(({ budget, kind, caller, since, used }): BudgetUse[] => {
        const amount = this.#settings.budgets?.[budget]?.[kind];
        if (amount === undefined) return [];
        const until = new Date(since + amount.periodMs).toISOString();
        return [{ budget, kind, caller, used, amount: amount.amount, periodMs: amount.periodMs, until }];
      })
      .toSorted((a, b) => b.used / b.amount - a.used / a.amount);
  }

  async close(): Promise<void> {
    this.#remove?.();
    if (this.#rules.length > 0) await this.#file?.save();
  }

  readonly #check: CallCheck = (routed, send) => {
    const { call, tool } = routed;
    const caller = call.caller?.account ?? OWNER;
    const rules = this.#rules.filter((rule) => rule.counts(caller, tool));
    const overBudget = this.#refusedByBudget(rules, caller, routed);
    if (overBudget !== undefined) return Promise.resolve(overBudget);
    const counted = this.#countRepetition(caller, routed);
    if ("refusal" in counted) return Promise.resolve(counted.refusal);
    this.#count(rules, caller, routed, 1);
    return send(this.#withCharge(rules, caller, routed)).then(
      (result) => {
        counted.ended(result);
        // The client sends the call again with the answers, and then it counts. A call that was not approved does not count.
        if (result.resultType === "input_required" || routed.isSent?.() === false)
          this.#count(rules, caller, routed, -1);
        return result;
      },
      (error: unknown) => {
        counted.ended(undefined);
        // Its client cancelled it while it waited for approval.
        if (routed.isSent?.() === false) this.#count(rules, caller, routed, -1);
        throw error;
      },
    );
  };

  #refusedByBudget(rules: readonly Rule[], caller: string, routed: RoutedCall): JsonObject | undefined {
    for (const { name, calls, cost, unitsPerCall = 0 } of rules) {
      const refusal =
        this.#exceeded({ budget: name, kind: "calls", caller }, calls, 1) ??
        (routed.isContract
          ? undefined
          : this.#exceeded({ budget: name, kind: "cost", caller }, cost, unitsPerCall));
      if (refusal !== undefined) {
        const { message, retryAfterMs } = this.#refuse(refusal, caller, routed);
        return refusalResult("over_budget", message, retryAfterMs);
      }
    }
    return undefined;
  }

  #exceeded(name: CounterName, amount: BudgetAmount | undefined, wanted: number): BudgetRefusal | undefined {
    if (amount === undefined || wanted === 0) return undefined;
    const { used, since } = this.#counters.read(name, amount);
    if (used + wanted <= amount.amount) return undefined;
    const units = name.kind === "cost" ? wanted : undefined;
    return { budget: name.budget, kind: name.kind, amount, used, units, until: since + amount.periodMs };
  }

  #count(rules: readonly Rule[], caller: string, { isContract }: RoutedCall, times: number): void {
    for (const { name, calls, cost, unitsPerCall = 0 } of rules) {
      if (calls !== undefined) this.#counters.add({ budget: name, kind: "calls", caller }, calls, times);
      if (cost !== undefined && !isContract && unitsPerCall > 0)
        this.#counters.add({ budget: name, kind: "cost", caller }, cost, times * unitsPerCall);
    }
    if (rules.length > 0) this.#file?.changed();
  }

  /** The driver of a contract, and so its cost, is known only when an attempt is made. */
  #withCharge(rules: readonly Rule[], caller: string, routed: RoutedCall): Call {
    const { call, isContract } = routed;
    const costs = isContract ? rules.filter(({ cost }) => cost !== undefined) : [];
    if (costs.length === 0) return call;
    const charge: Call["charge"] = (units) => {
      const wanted = costs.map((rule) => ({ rule, units: units ?? rule.unitsPerCall ?? 0 }));
      for (const { rule, units: needed } of wanted) {
        const refusal = this.#exceeded({ budget: rule.name, kind: "cost", caller }, rule.cost, needed);
        if (refusal !== undefined) return this.#refuse(refusal, caller, routed);
      }
      for (const { rule, units: needed } of wanted)
        if (rule.cost !== undefined && needed > 0)
          this.#counters.add({ budget: rule.name, kind: "cost", caller }, rule.cost, needed);
      this.#file?.changed();
      return undefined;
    };
    return { ...call, charge };
  }

  /** Reports a refusal, and returns its text and the time until the call is possible; undefined for a call that never is. */
  #refuse(
    refusal: BudgetRefusal,
    caller: string,
    { call, tool }: RoutedCall,
  ): { readonly message: string; readonly retryAfterMs: number | undefined } {
    const { budget, kind, amount, used, until } = refusal;
    call.observation?.decide({ kind: "over_budget", rule: budget });
    if (this.#counters.isFirstRefusal({ budget, kind, caller }, amount))
      this.#options.events.emit({
        type: "gateway.budget_exceeded",
        ...{ server: tool.alias, tool: tool.name, caller, budget, kind, used },
        ...{ amount: amount.amount, periodMs: amount.periodMs, until: new Date(until).toISOString() },
      });
    const now = this.#now();
    const retryAfterMs = isNeverPossible(refusal) ? undefined : until - now;
    return { message: budgetText(refusal, now), retryAfterMs };
  }

  #countRepetition(caller: string, { call, tool }: RoutedCall): OpenCall | { readonly refusal: JsonObject } {
    const { loops } = this.#settings;
    if (loops === undefined || this.#isExempt(tool)) return NOT_COUNTED;
    const counted = { caller, tool: tool.name, digest: digestOf(call) };
    const found = this.#loops.begin(counted, tool.annotations?.readOnlyHint === true, loops);
    if ("ended" in found) return found;
    const { calls, until, isFirst } = found;
    call.observation?.decide({ kind: "loop", rule: "loops" });
    if (isFirst)
      this.#options.events.emit({
        type: "gateway.loop_stopped",
        ...{ server: tool.alias, tool: tool.name, caller, calls, withinMs: loops.withinMs },
        until: new Date(until).toISOString(),
      });
    const now = this.#now();
    const text = loopText({ tool: tool.name, calls, until }, loops.withinMs, now);
    return { refusal: refusalResult("loop", text, until - now) };
  }
}

const NOT_COUNTED: OpenCall = { ended() {} };

function toRule(name: string, budget: GatewayBudget): Rule {
  const callers = budget.callers && new Set(budget.callers);
  const isMeant = budget.tools === undefined ? () => true : toolTest(budget.tools);
  return {
    ...budget,
    name,
    counts: (caller, tool) => (callers === undefined || isNamed(callers, caller)) && isMeant(tool),
  };
}

/** Callers that are found by OAuth claims are named `<caller>|<subject>`, and each subject has an amount of its own. */
function isNamed(callers: ReadonlySet<string>, caller: string): boolean {
  return callers.has(caller) || callers.has(caller.split("|", 1)[0] ?? "");
}

function toolTest(patterns: readonly string[]): (tool: ViewTool) => boolean {
  const tests = patterns.map(toWildcard);
  return ({ name, alias, own }) => tests.some((matches) => matches(name) || matches(`${alias}.${own}`));
}

/** Arguments without a canonical form are compared as they were written. */
function digestOf({ params, observation }: Call): string {
  const digest = observation === undefined ? argumentDigest(params?.arguments) : observation.digest;
  return digest ?? hash("sha256", JSON.stringify(params?.arguments) ?? "", "base64url");
}
