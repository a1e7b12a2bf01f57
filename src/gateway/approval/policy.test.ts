// Whether a call needs approval: the first rule that matches tool and caller.

import { expect, test } from "vitest";
import type { ApprovalRule, ToolAnnotations } from "../../model/index.ts";
import { createApprovalPolicy, undecidableRules } from "./policy.ts";

const tool = (own: string, annotations?: ToolAnnotations, tags: string[] = []) => ({
  ...{ name: `mcp_files_${own}`, own, alias: "files", tags, annotations },
});
const ruleOf = (rules: readonly ApprovalRule[], one: ReturnType<typeof tool>, caller = "agent") =>
  createApprovalPolicy(rules).forTools?.(one, caller)?.rule;

test("without rules about tools, calls are not looked at", () => {
  expect(createApprovalPolicy().forTools).toBeUndefined();
  expect(createApprovalPolicy([{ contract: true }]).forTools).toBeUndefined();
});

test("annotations are read with care: a tool that says nothing is destructive", () => {
  const rules: ApprovalRule[] = [{ annotations: ["destructive"] }];
  expect(ruleOf(rules, tool("write"))).toBe("gateway.approval[0]");
  expect(ruleOf(rules, tool("write", { destructiveHint: false }))).toBeUndefined();
  expect(ruleOf(rules, tool("read", { readOnlyHint: true, destructiveHint: true }))).toBeUndefined();
});

test("every kind must match, by any entry; the first rule that matches applies", () => {
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
  // People whom one OAuth rule admits are named after it.
  expect(ruleOf(rules, tool("read"), "people|oauth:https://issuer|ann")).toBe("gateway.approval[2]");
  expect(ruleOf(rules, tool("read"), "peoples")).toBeUndefined();
  expect(ruleOf([{}], tool("read", { readOnlyHint: true }))).toBe("gateway.approval[0]");
});

test("a rule of contracts is only about calls whose contract asks for approval", () => {
  const policy = createApprovalPolicy([{ contract: true, by: ["console"] }, { tools: ["x.*"] }]);
  expect(policy.forTools?.(tool("write"), "agent")).toBeUndefined();
  expect(policy.forContracts(tool("write"), "agent")).toMatchObject({ by: ["console"], timeoutMs: 300_000 });
});

test("rules about whose calls nobody can decide in a program", () => {
  const rules: ApprovalRule[] = [{}, { by: ["console"] }, { by: ["console", "caller"] }, { by: ["program"] }];
  const named = (...indexes: number[]) => indexes.map((index) => `gateway.approval[${index}]`);
  expect(undecidableRules(rules, { hasProgram: false })).toEqual(named(0, 1, 3));
  expect(undecidableRules(rules, { hasProgram: true })).toEqual(named(1));
  expect(undecidableRules(undefined, { hasProgram: false })).toEqual([]);
});
