// Approval policy: decides whether a call needs approval, from the rules of the gateway. A pure function of tool and caller.

import { toWildcard } from "../../base/text/wildcard.ts";
import { type ApprovalRule, type ApprovalWay, GATEWAY_DEFAULTS } from "../../model/index.ts";
import { createToolTest } from "../access/tool-filter.ts";
import type { FilteredTool } from "../access/types.ts";

/** How a call is approved. */
export interface Requirement {
  /** The rule that asks for it, such as `gateway.approval[0]`. */
  readonly rule: string;
  readonly reason: string;
  readonly by: readonly ApprovalWay[];
  /** The longest time for which repetitions of the call may be approved; undefined: one call only. */
  readonly maxForMs: number | undefined;
  readonly timeoutMs: number;
}

export type FindRequirement = (tool: FilteredTool, caller: string) => Requirement | undefined;

export interface ApprovalPolicy {
  /** For every call of a tool; undefined if no rule is about such calls. */
  readonly forTools: FindRequirement | undefined;
  /** For calls whose contract asks for approval: the first rule with `contract: true` that matches. */
  readonly forContracts: FindRequirement;
}

/** A person next to the gateway. */
const DEFAULT_WAYS: readonly ApprovalWay[] = ["console", "terminal"];

/** The ways of rules that name none. A gateway inside of another program can have that program as one. */
export function defaultWays(hasProgram: boolean): readonly ApprovalWay[] {
  return hasProgram ? [...DEFAULT_WAYS, "program"] : DEFAULT_WAYS;
}

/** The rules, such as `gateway.approval[0]`, about whose calls nobody can decide in a gateway without console and terminal. */
export function undecidableRules(
  rules: readonly ApprovalRule[] = [],
  { hasProgram }: { readonly hasProgram: boolean },
): string[] {
  const isDecidable = ({ by = defaultWays(hasProgram) }: ApprovalRule): boolean =>
    by.includes("caller") || (hasProgram && by.includes("program"));
  return rules.flatMap((rule, index) => (isDecidable(rule) ? [] : [`gateway.approval[${index}]`]));
}

export function createApprovalPolicy(
  rules: readonly ApprovalRule[] = [],
  ways: readonly ApprovalWay[] = DEFAULT_WAYS,
): ApprovalPolicy {
  const compiled = rules.map((rule, index) => compileRule(rule, index, ways));
  const findIn =
    (some: typeof compiled): FindRequirement =>
    (tool, caller) =>
      some.find(({ matches }) => matches(tool, caller))?.requirement;
  const ofTools = compiled.filter(({ isOfContract }) => !isOfContract);
  return {
    forTools: ofTools.length === 0 ? undefined : findIn(ofTools),
    forContracts: findIn(compiled.filter(({ isOfContract }) => isOfContract)),
  };
}

/** How contract calls are approved that no rule is about: also by a person at the client. */
export function contractRequirement(
  contract: string,
  reason: string,
  ways: readonly ApprovalWay[],
): Requirement {
  return {
    ...{ rule: `contract ${contract}`, reason, by: [...ways, "caller"], maxForMs: undefined },
    timeoutMs: GATEWAY_DEFAULTS.approvalTimeoutMs,
  };
}

interface CompiledRule {
  readonly matches: (tool: FilteredTool, caller: string) => boolean;
  readonly requirement: Requirement;
  readonly isOfContract: boolean;
}

function compileRule(rule: ApprovalRule, index: number, ways: readonly ApprovalWay[]): CompiledRule {
  const { callers, by = ways, forMs, timeoutMs = GATEWAY_DEFAULTS.approvalTimeoutMs } = rule;
  const matchesTool = createToolTest(rule);
  // People who match the OAuth rule of one caller are named <caller>|<subject>.
  const names = callers?.flatMap((name) => [toWildcard(name), toWildcard(`${name}|*`)]);
  const id = `gateway.approval[${index}]`;
  return {
    matches: (tool, caller) =>
      (names === undefined || names.some((matches) => matches(caller))) && matchesTool(tool),
    requirement: {
      ...{
        rule: id,
        reason: rule.reason?.replace(/\.$/, "") ?? describeRule(id, rule),
        by,
        maxForMs: forMs,
        timeoutMs,
      },
    },
    isOfContract: rule.contract === true,
  };
}

function describeRule(id: string, { tools, servers, tags, annotations, callers }: ApprovalRule): string {
  const kinds = Object.entries({ tools, servers, tags, annotations, callers });
  const parts = kinds.flatMap(([kind, list]) => (list === undefined ? [] : [`${kind}: ${list.join(", ")}`]));
  return `The rule ${id} requires approval${parts.length === 0 ? " of every call" : ` (${parts.join("; ")})`}`;
}
