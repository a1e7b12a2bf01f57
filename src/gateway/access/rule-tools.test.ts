import { expect, test } from "vitest";
import type { GatewaySettings } from "../../model/index.ts";
import { type RuleServer, unknownRuleTools } from "./rule-tools.ts";

const server = (alias: string, ...tools: string[]): RuleServer => ({
  alias,
  prefixes: [`${alias}.`, `mcp_${alias}_`],
  tools: tools.flatMap((name) => [`${alias}.${name}`, `mcp_${alias}_${name}`]),
});
const files = server("files", "read_file", "write_file");
const reportOf = (settings: GatewaySettings, servers: readonly RuleServer[] = [files]): unknown[] =>
  unknownRuleTools(settings, () => servers).map(({ message, hint }) => [message, hint]);
const approval = (...tools: string[]): GatewaySettings => ({ approval: [{ tools }] });

test("a misspelt tool of a known server is reported with the nearest name, in the same form", () => {
  expect(reportOf(approval("files.write_fil", "mcp_files_raed_file", "files.qqq"))).toEqual([
    [
      'gateway.approval[0] names the tool "files.write_fil", but the server files has no such tool',
      'Did you mean "files.write_file"?',
    ],
    [
      'gateway.approval[0] names the tool "mcp_files_raed_file", but the server files has no such tool',
      'Did you mean "mcp_files_read_file"?',
    ],
    [
      'gateway.approval[0] names the tool "files.qqq", but the server files has no such tool',
      "A rule names a tool as files.<tool>. To see the tools: portolan list files",
    ],
  ]);
});

test("every kind of rule is checked", () => {
  const rules = {
    callers: [{ name: "ci", allow: { tools: ["files.a"] }, deny: { tools: ["files.b"] } }],
    budgets: { small: { tools: ["files.c"] } },
    loops: { identical: 3, withinMs: 1_000, except: ["files.d"] },
  };
  expect(unknownRuleTools(rules, () => [files]).map(({ message }) => message.split(" names ")[0])).toEqual([
    "allow of the caller ci",
    "deny of the caller ci",
    "the budget small",
    "gateway.loops.except",
  ]);
});

test("existing tools, patterns, unknown servers and servers without a tool list are not reported", () => {
  expect(reportOf(approval("files.read_file", "mcp_files_write_file", "files.writ*", "other.tool"))).toEqual(
    [],
  );
  expect(reportOf(approval("files.write_fil"), [{ ...files, tools: undefined }])).toEqual([]);
});

test("a name that may belong to two servers is checked only after both listed their tools", () => {
  const old = server("files_old", "read_file");
  const rule = approval("mcp_files_old_raed_file");
  expect(reportOf(rule, [files, { ...old, tools: undefined }])).toEqual([]);
  expect(reportOf(rule, [files, old])).toEqual([
    [
      'gateway.approval[0] names the tool "mcp_files_old_raed_file", but the server files_old has no such tool',
      'Did you mean "mcp_files_old_read_file"?',
    ],
  ]);
});

test("if no rule names a tool, the tool lists are not read", () => {
  const read = (): never => {
    throw new Error("read");
  };
  expect(unknownRuleTools({ approval: [{ tools: ["files.*"] }, { servers: ["files"] }] }, read)).toEqual([]);
});
