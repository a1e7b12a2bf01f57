// Validator: checks a value against an untrusted schema, synchronously and in bounded time.

import { dialectOf } from "../keywords.ts";
import { boundSchema, measureInstance, type SchemaFacts } from "../bounds.ts";
import { isStackOverflow, withinBudget } from "../budget.ts";
import { type Engine, prepareEngine } from "./engine.ts";
import { compileFastTest, type FastTest } from "./fast-path.ts";
import { isHeavy } from "../pattern/pattern.ts";
import { type Problem, toProblems } from "./problems.ts";
import { clip } from "../message-text.ts";

export type CheckResult =
  | { readonly valid: true }
  | { readonly valid: false; readonly problems: readonly Problem[] }
  /** The check has no result for the given reason. The receiver of the value must check it. */
  | { readonly valid: "unknown"; readonly reason: string };

export interface SchemaValidator {
  check(value: unknown): CheckResult;
}

export interface ValidatorOptions {
  /** Maximum time of one check. The default is 40. The preparation may take as long, and at least 100. */
  readonly budgetMs?: number;
}

const VALID: CheckResult = Object.freeze({ valid: true });
const BUDGET_MS = 40;
/** Budget for preparing a schema that is not small. */
const PREPARE_MS = 100;
const PREPARE_DIRECT = 5000;
const MOST_OVERRUNS = 3;
/** Part of an overrun that each check in time compensates. */
const FORGIVEN = 0.01;
/** Schema weight x value weight up to which a check needs no budget. It takes a few milliseconds at most. */
const DIRECT_LIMIT = 10_000;

/**
 * Never rejects. For an unusable schema, the validator returns "unknown" with the reason.
 * Loads the engine on first use; `check` itself is synchronous.
 */
export async function createValidator(
  schema: unknown,
  options: ValidatorOptions = {},
): Promise<SchemaValidator> {
  const bounds = boundSchema(schema);
  if (!bounds.ok) return undecided(`the schema cannot be used: ${bounds.reason}`);
  const [cfworker, re2] = await Promise.all([
    import("@cfworker/json-schema"),
    // The module is large, and most schemas have no pattern.
    bounds.facts.patterns.length === 0 ? undefined : import("re2js"),
  ]);
  try {
    const prepare = (): Engine =>
      prepareEngine(schema, bounds.facts, dialectOf(schema), cfworker, re2?.RE2JS);
    const prepared = isSmall(bounds.facts)
      ? ({ ok: true, value: prepare() } as const)
      : withinBudget(Math.max(PREPARE_MS, options.budgetMs ?? 0), prepare);
    if (!prepared.ok) return undecided("the schema cannot be used: it takes too long to prepare");
    return new Checker(prepared.value, bounds.facts, compileFastTest(schema), options.budgetMs ?? BUDGET_MS);
  } catch (error) {
    return undecided(`the schema cannot be used: ${messageOf(error)}`);
  }
}

class Checker implements SchemaValidator {
  readonly #engine: Engine;
  readonly #pairs: boolean;
  readonly #fast: FastTest | undefined;
  readonly #budgetMs: number;
  #overruns = 0;

  constructor(engine: Engine, facts: SchemaFacts, fast: FastTest | undefined, budgetMs: number) {
    this.#engine = engine;
    this.#pairs = facts.pairs;
    this.#fast = fast;
    this.#budgetMs = budgetMs;
  }

  check(value: unknown): CheckResult {
    if (this.#fast?.(value) === true) return VALID;
    if (this.#overruns > MOST_OVERRUNS - 1)
      return unknown(
        `Portolan stopped checking values with this schema, because the check exceeded its time limit ${MOST_OVERRUNS} times`,
      );
    const given = measureInstance(value);
    if (!given.ok) return unknown(given.reason);
    try {
      const instance = given.plain ? value : asJson(value);
      if (instance === undefined)
        return { valid: false, problems: [{ path: "", message: "is not a JSON value" }] };
      // `toJSON` may have made the value larger.
      const size = given.plain ? given : measureInstance(instance);
      if (!size.ok) return unknown(size.reason);
      const cost = this.#engine.weight * size.weight * (this.#pairs ? size.weight : 1);
      return this.#judge(instance, cost <= DIRECT_LIMIT);
    } catch (error) {
      return unknown(
        isStackOverflow(error) ? "the value and the schema are too large together" : messageOf(error),
      );
    }
  }

  #judge(instance: unknown, direct: boolean): CheckResult {
    const engine = this.#engine;
    const run = direct
      ? ({ ok: true, value: engine.run(instance) } as const)
      : withinBudget(this.#budgetMs, () => engine.run(instance));
    if (!run.ok) {
      this.#overruns += 1;
      engine.reset();
      return unknown(
        run.reason === "budget"
          ? `checking took longer than ${this.#budgetMs} ms`
          : "the schema refers to itself without end",
      );
    }
    // A few overruns on a busy machine must not disable a good schema.
    if (this.#overruns > 0) this.#overruns = Math.max(0, this.#overruns - FORGIVEN);
    if (run.value.length === 0) return engine.unchecked === undefined ? VALID : unknown(engine.unchecked);
    if (!engine.sure) return unknown(engine.unchecked ?? "");
    return { valid: false, problems: toProblems(run.value, { ...engine, instance }) };
  }
}

/** Returns true for a schema that needs no budget for its preparation. */
function isSmall({ weight, patterns }: SchemaFacts): boolean {
  const characters = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  return weight <= PREPARE_DIRECT && characters <= 500 && !patterns.some(isHeavy);
}

function undecided(reason: string): SchemaValidator {
  const result = unknown(reason);
  return { check: () => result };
}

function unknown(reason: string): CheckResult {
  return { valid: "unknown", reason };
}

/** Returns the value as JSON carries it, or undefined if JSON cannot. */
function asJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return clip(error instanceof Error ? error.message : String(error));
}
