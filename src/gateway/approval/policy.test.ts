// Whether a call needs approval: the first rule that matches tool and caller.

import { expect, test } from "vitest";
import type { ApprovalRule, ToolAnnotations } from "../../model/index.ts";
import { createApprovalPolicy, undecidableRules } from "./policy.ts";

const tool = (own: string, annotations?: ToolAnnotations, tags: string[] = []) => ({
  ...{ name: `mcp_files_${own}`, own, alias: "files", tags, annotations },
});
const ruleOf = (rules: readonly ApprovalRule[], one: ReturnType<typeof tool>, caller = "agent") =>
  createApprovalPolicy(rules).forTools?.(one, caller)?.rule;

test("without rules about tools, calls are not checked", () => {
  expect(createApprovalPolicy().forTools).toBeUndefined();
  expect(createApprovalPolicy([{ contract: true }]).forTools).toBeUndefined();
});

test("a tool without annotations counts as destructive", () => {
  const rules: ApprovalRule[] = [{ annotations: ["destructive"] }];
  expect(ruleOf(rules, tool("write"))).toBe("gateway.approval[0]");
  expect(ruleOf(rules, tool("write", { destructiveHint: false }))).toBeUndefined();
  expect(ruleOf(rules, tool("read", { readOnlyHint: true, destructiveHint: true }))).toBeUndefined();
});

test("a rule must match with each field by any entry, and the first matching rule applies", () => {
  const rules: ApprovalRule[] = [
    { tools: ["files.wr*", "*_move"], annotations: ["destructive"], callers: ["agent"] },
    { servers: ["files"], tags: ["production"] },
    { callers: ["people"] },
  ];
  expect(ruleOf(rules, tool("write"))).toBe("gateway.approval[0]");
  expect(ruleOf(rules, tool("move"))).toBe("gateway.approval[0]");
  expect(ruleOf(rules, tool("write"), "other")).toBeUndefined();
  expect(ruleOf(rules, tool("write", {}, ["production"]), "other")).toBe("gateway.approval[1]");
  expect(ruleOf(rules, { ...tool("read"), ...{ possibleTags: ["production"] } })).toBe("gateway.approval[1]");
  // The caller names of OAuth users begin with the name of their OAuth rule.
  expect(ruleOf(rules, tool("read"), "people|oauth:https://issuer|ann")).toBe("gateway.approval[2]");
  expect(ruleOf(rules, tool("read"), "peoples")).toBeUndefined();
  expect(ruleOf([{}], tool("read", { readOnlyHint: true }))).toBe("gateway.approval[0]");
});

test('a rule with "contract" applies only to calls whose contract requires approval', () => {
  const policy = createApprovalPolicy([{ contract: true, by: ["console"] }, { tools: ["x.*"] }]);
  expect(policy.forTools?.(tool("write"), "agent")).toBeUndefined();
  expect(policy.forContracts(tool("write"), "agent")).toMatchObject({ by: ["console"], timeoutMs: 300_000 });
});

test("undecidableRules returns the rules whose calls no one can approve inside a program", () => {
  const rules: ApprovalRule[] = [{}, { by: ["console"] }, { by: ["console", "caller"] }, { by: ["program"] }];
  const named = (...indexes: number[]) => indexes.map((index) => `gateway.approval[${index}]`);
  expect(undecidableRules(rules, { hasProgram: false })).toEqual(named(0, 1, 3));
  expect(undecidableRules(rules, { hasProgram: true })).toEqual(named(1));
  expect(undecidableRules(undefined, { hasProgram: false })).toEqual([]);
});
