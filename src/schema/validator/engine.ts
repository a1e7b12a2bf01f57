// Safe use of the JSON Schema engine (cfworker): it gets a rewritten copy and runs patterns through our own matchers.

import type { OutputUnit } from "@cfworker/json-schema";
import type { RE2JS } from "re2js";
import type { JsonObject } from "../../model/index.ts";
import { measureInstance, type SchemaFacts } from "../bounds.ts";
import { type Dialect, kindUnder } from "../keywords.ts";
import { child } from "./locations.ts";
import { createMatcher, type Matcher } from "../pattern/pattern.ts";
import { refCost } from "../ref-cost.ts";
import { rewriteSchema } from "./rewrite.ts";
import { isSafePattern } from "../pattern/safe-pattern.ts";

type Cfworker = typeof import("@cfworker/json-schema");

export interface Engine {
  readonly schema: unknown;
  readonly lookup: Readonly<Record<string, unknown>>;
  /** Upper limit of the cost to check one part of a value; infinite if it is unknown. */
  readonly weight: number;
  /** Reason why a result without errors does not prove validity. */
  readonly unchecked: string | undefined;
  /** True if an error proves that the value is invalid. */
  readonly sure: boolean;
  run(instance: unknown): readonly OutputUnit[];
  patternOf(format: unknown): string | undefined;
  /** Must be called after a run was stopped by its budget. */
  reset(): void;
}

/**
 * The engine has one table of custom formats for the whole process. Our formats are numbered and refer to the matchers of the
 * schema that is running. Runs are synchronous, so there is only one at a time, and no schema leaves entries in the table.
 */
const PREFIX = "portolan:pattern:";
let active: readonly Matcher[] = [];

export function prepareEngine(
  schema: unknown,
  facts: SchemaFacts,
  dialect: Dialect,
  cfworker: Cfworker,
  re2: typeof RE2JS | undefined,
): Engine {
  const matchers: Matcher[] = [];
  const formats = new Map<string, string>();
  for (const source of facts.patterns) {
    const matcher = re2 === undefined ? undefined : createMatcher(source, re2);
    if (matcher !== undefined) formats.set(source, `${PREFIX}${matchers.push(matcher) - 1}`);
  }
  registerFormats(cfworker.format, matchers.length);
  const rewritten = rewriteSchema(schema, {
    dialect,
    refs: facts.refs !== "none",
    patternFormat: (source) => formats.get(source),
  });
  // Draft-04 was rewritten as draft-07.
  const draft = dialect === "4" ? "7" : dialect;
  const lookup = cfworker.dereference(rewritten.schema);
  const [first] = rewritten.unchecked;
  return {
    schema: rewritten.schema,
    lookup,
    weight: matchers.some((matcher) => matcher.wild)
      ? Number.POSITIVE_INFINITY
      : weightOf(rewritten.schema, lookup, facts),
    unchecked:
      first === undefined
        ? undefined
        : `the schema has a part that cannot be checked: ${first.slice(0, 200) || "/"}`,
    sure: rewritten.sure,
    run(instance) {
      active = matchers;
      return cfworker.validate(instance, rewritten.schema, draft, lookup, false).errors;
    },
    patternOf: (format) => matchers[Number(String(format).slice(PREFIX.length))]?.source,
    reset: () => {
      for (const matcher of matchers) matcher.reset();
    },
  };
}

function weightOf(schema: unknown, lookup: Readonly<Record<string, unknown>>, facts: SchemaFacts): number {
  if (facts.tame) return facts.weight;
  // The engine matches property names with JavaScript's own regular expressions.
  if (facts.refs === "dynamic" || !facts.namePatterns.every(isSafePattern)) return Number.POSITIVE_INFINITY;
  if (facts.refs === "none") return facts.weight;
  const follow = (node: JsonObject): { name: string; target: unknown } | undefined => {
    const name = child(node, "__absolute_ref__");
    return typeof name === "string" ? { name, target: lookup[name] } : undefined;
  };
  const cost = refCost(schema, { follow, weigh });
  return cost.unbounded ? Number.POSITIVE_INFINITY : cost.weight;
}

/** Cost of a subschema's own keywords. Long lists of values are compared one by one. */
function weigh(node: JsonObject): number {
  let weight = 1;
  for (const [keyword, value] of Object.entries(node)) {
    const size = kindUnder(keyword, value) === "data" ? measureInstance(value) : undefined;
    weight += size?.ok === true ? size.weight : 1;
  }
  return weight;
}

function registerFormats(table: Record<string, (text: string) => boolean>, count: number): void {
  for (let index = 0; index < count; index += 1) {
    table[`${PREFIX}${index}`] ??= (text) => active[index]?.test(text) ?? true;
  }
}
