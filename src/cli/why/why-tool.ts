// `portolan why <server>.<tool>`: whether a tool is offered, and why not.

import type { CallerAccess } from "../../gateway/index.ts";
import type { LivePin, OwnName, ServerHealth } from "../../hub/index.ts";
import { PortolanError, unknownTool } from "../../errors/index.ts";
import type { ToolDefinition } from "../../model/index.ts";
import type { LintFinding } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { renderRows, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { healthError } from "../workspace/open.ts";
import { withServers } from "../workspace/running.ts";
import { findServer, type Source } from "../workspace/source.ts";

interface ToolReport {
  readonly server: string;
  readonly tool: string;
  readonly offered: boolean;
  /** Why it is not offered, or would not be. */
  readonly reason?: string;
  readonly hash?: string;
  readonly approved?: string;
  readonly findings: readonly LintFinding[];
  /** The callers of the gateway, and the rule by which the tool is refused to some. Absent if there are none. */
  readonly callers?: readonly {
    readonly name: string;
    readonly allowed: boolean;
    readonly rule?: string;
    readonly approval?: string;
  }[];
  readonly advice: readonly string[];
}

/** The server and the tool that a word names; undefined if it names no server with a tool. */
export function toolIn(source: Source, word: string): { alias: string; tool: string } | undefined {
  const dot = word.indexOf(".");
  const server = dot < 1 ? undefined : findServer(source, word.slice(0, dot));
  return server === undefined ? undefined : { alias: server.alias, tool: word.slice(dot + 1) };
}

export async function whyTool(
  cli: Cli,
  source: Source,
  { alias, tool }: { readonly alias: string; readonly tool: string },
): Promise<number> {
  const open = { only: [alias], start: "eager", showsSource: true, hashesTools: true } as const;
  return withServers(cli, source, open, async ({ workspace, gateway, callers }) => {
    const pins = await workspace.pins();
    const [health] = workspace.health();
    if (health === undefined)
      throw new PortolanError("INTERNAL", `portolan why found no state of the server ${alias}.`);
    const problem = healthError(health);
    if (problem !== undefined) throw problem;
    const tools = pins.flatMap((server) => server.tools);
    const found = tools.find(({ name }) => name === tool);
    const offered = [...workspace.toolNames().values()].some(({ name }) => name === tool);
    if (found === undefined && !offered) {
      const names = [...tools.map(({ name }) => name), ...(health.pins?.removed ?? [])];
      const isGone = health.pins?.removed.includes(tool) === true;
      throw unknownTool({
        ...{ server: alias, name: tool, known: names },
        reason: isGone
          ? `The server no longer lists this tool, but portolan.lock still has its pin. To remove the pin: portolan pins approve ${alias} ${tool}`
          : undefined,
      });
    }
    const { lintDefinition } = await import("../../packages/index.ts");
    const findings = found === undefined ? [] : lintDefinition(found.definition);
    const definitions = callers.length === 0 ? [] : await workspace.toolDefinitions();
    const rules = await rulesFor(callers, definitions, workspace.toolNames(), source, tool);
    const report = toReport({ alias, tool, found, offered, findings, health, callers: rules });
    if (cli.output.form === "json") cli.output.json({ gateway, ...report });
    else cli.output.print(describe(report, cli));
    return 0;
  });
}

/** Undefined without callers, and for a tool that nobody may use. */
async function rulesFor(
  callers: readonly CallerAccess[],
  definitions: readonly ToolDefinition[],
  names: ReadonlyMap<string, OwnName>,
  source: Source,
  tool: string,
): Promise<ToolReport["callers"]> {
  const definition = definitions.find(({ name }) => names.get(name)?.name === tool);
  if (definition === undefined) return undefined;
  const { refusedTools, toFilteredTool } = await import("../list/refused-tools.ts");
  const { createApprovalPolicy } = await import("../../gateway/index.ts");
  const { forTools } = createApprovalPolicy(source.config.gateway?.approval);
  const filtered = await toFilteredTool(definition, names, source);
  return Promise.all(
    callers.map(async (caller) => {
      const [refused] = await refusedTools(caller, [definition], names, source);
      if (refused !== undefined) return { name: caller.name, allowed: false, rule: refused.rule };
      return { name: caller.name, allowed: true, approval: forTools?.(filtered, caller.name)?.rule };
    }),
  );
}

function toReport(facts: {
  readonly alias: string;
  readonly tool: string;
  readonly found: LivePin | undefined;
  readonly offered: boolean;
  readonly findings: readonly LintFinding[];
  readonly health: ServerHealth;
  readonly callers: ToolReport["callers"];
}): ToolReport {
  const { alias, tool, found, offered, findings, health, callers } = facts;
  const difference = health.pins?.differences.find((one) => one.tool === tool);
  const problem = health.pins?.problem;
  const filtered = `tool_allowlist or tool_blocklist in the config of ${alias} excludes this tool`;
  const reason = difference?.reason ?? problem?.message ?? (offered ? undefined : filtered);
  const hint = difference?.hint ?? problem?.hint;
  return {
    server: alias,
    tool,
    offered,
    reason,
    hash: found?.hash,
    approved: found?.approved,
    findings,
    callers,
    advice: hint !== undefined ? [hint] : offered ? [describeUse(callers)] : [],
  };
}

function describeUse(callers: ToolReport["callers"] = []): string {
  const allowed = callers.filter((caller) => caller.allowed).length;
  return allowed === callers.length
    ? "No action needed: clients can use this tool."
    : `${allowed} of ${callers.length} ${callers.length === 1 ? "caller" : "callers"} can use this tool. To change the rules, edit gateway.callers in portolan.yaml.`;
}

function describe(
  {
    server,
    tool,
    offered,
    reason = "",
    hash = "",
    approved = "",
    findings,
    callers = [],
    advice,
  }: ToolReport,
  { output }: Cli,
): string {
  const { colors, width } = output;
  // A tool that its config excludes needs no approval, so there is no advice about it.
  const state = offered
    ? colors.green("offered")
    : colors.red(advice.length > 0 ? "withheld" : "not offered");
  const rows = [
    { name: "state", value: state },
    { name: "reason", value: plainLine(reason, 500) },
    { name: "hash", value: hash },
    { name: "pinned", value: approved === hash && hash !== "" ? "the same hash" : approved },
    ...callers.map(({ name, rule, approval }, index) => ({
      name: index === 0 ? "callers" : "",
      value: `${plainLine(name, 80)} ${rule !== undefined ? `${colors.red("refused")} by ${plainLine(rule, 300)}` : approval !== undefined ? `${colors.green("allowed")}, after approval (${approval})` : colors.green("allowed")}`,
    })),
    ...findings.slice(0, 10).map(({ severity, path, message }) => ({
      name: severity,
      value: `${plainLine(path, 80)} ${plainLine(message, 300)}`,
      paint: colors.yellow,
    })),
  ];
  const sections = [
    `${colors.bold(`${plainLine(server, 60)}.${plainLine(tool, 100)}`)}\n${renderRows(rows, output)}`,
  ];
  if (advice.length > 0)
    sections.push(
      `${colors.bold("What to do")}\n${advice.map((line) => wrap(`  ${plainLine(line, 500)}`, width)).join("\n")}`,
    );
  return sections.join("\n\n");
}
