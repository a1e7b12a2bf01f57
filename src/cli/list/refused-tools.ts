// Tools that a caller of the gateway may not use, each with the rule that refuses it.

import type { CallerAccess, FilteredTool } from "../../gateway/index.ts";
import type { OwnName } from "../../hub/index.ts";
import type { ToolDefinition } from "../../model/index.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { createRuleFinder } from "../workspace/callers.ts";
import type { Source } from "../workspace/source.ts";

export interface RefusedTool {
  readonly server: string;
  /** Its name in the workspace. */
  readonly name: string;
  /** The server's own name for it. */
  readonly tool: string;
  /** The setting of the caller that refuses it, such as `deny.tools: files.write_*`. */
  readonly rule: string;
}

const SHOWN = 8;

export async function refusedTools(
  caller: CallerAccess,
  tools: readonly ToolDefinition[],
  names: ReadonlyMap<string, OwnName>,
  source: Source,
): Promise<readonly RefusedTool[]> {
  const ruleFor = await createRuleFinder(caller);
  const filtered = await Promise.all(tools.map((tool) => toFilteredTool(tool, names, source)));
  return filtered.flatMap((tool) => {
    const { name, alias: server, own } = tool;
    const rule = ruleFor(tool);
    return rule === undefined ? [] : [{ server, name, tool: own, rule }];
  });
}

/** The tool as the rules of the gateway see it. */
export async function toFilteredTool(
  { name, annotations }: Pick<ToolDefinition, "name" | "annotations">,
  names: ReadonlyMap<string, OwnName>,
  { config }: Source,
): Promise<FilteredTool> {
  const { tagsOfTool } = await import("../../hub/index.ts");
  const { server, name: own } = names.get(name) ?? { server: "", name };
  const configured = config.servers.find(({ alias }) => alias === server);
  const tags = configured === undefined ? { tags: [] } : tagsOfTool(configured, own);
  return { name, alias: server, own, ...tags, annotations };
}

/** One line for each rule, with the tools that it refuses. */
export function describeRefused(refused: readonly RefusedTool[], { all }: { all?: boolean }): string[] {
  const rules = new Map<string, string[]>();
  for (const { tool, rule } of refused) rules.set(rule, [...(rules.get(rule) ?? []), plainLine(tool, 80)]);
  return [...rules].map(([rule, tools]) => {
    const shown = all === true ? tools : tools.slice(0, SHOWN);
    const more = tools.length > shown.length ? ` and ${tools.length - shown.length} more (--all)` : "";
    return `refused (${plainLine(rule, 300)}): ${shown.join(", ")}${more}`;
  });
}
