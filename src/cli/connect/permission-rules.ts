// Permission rules of Claude Code that name tools of servers which `connect` takes out of its file.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Computer } from "../../formats/clients/index.ts";
import { isObject } from "../../model/index.ts";
import type { FilePlan } from "./plan.ts";

export interface OldRules {
  readonly file: string;
  /** Such as `mcp__memory__read_graph`. */
  readonly rules: readonly string[];
}

/** The settings files with such rules. A file that cannot be read has none. */
export async function oldRules(
  plans: readonly FilePlan[],
  { home, cwd, env }: Computer,
): Promise<readonly OldRules[]> {
  const servers = plans
    .filter(({ client }) => client === "claude-code")
    .flatMap((plan) => plan.servers.flatMap(({ name, change }) => (change === "replaced" ? [name] : [])));
  if (servers.length === 0) return [];
  const files = [
    join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "settings.json"),
    join(cwd, ".claude", "settings.json"),
    join(cwd, ".claude", "settings.local.json"),
  ];
  const found: OldRules[] = [];
  for (const file of new Set(files)) {
    const rules = (await rulesIn(file)).filter((rule) => servers.some((name) => isAbout(rule, name)));
    if (rules.length > 0) found.push({ file, rules });
  }
  return found;
}

/** Claude Code replaces other characters of a server's name by an underscore. */
function isAbout(rule: string, name: string): boolean {
  const start = `mcp__${name.replace(/[^A-Za-z0-9_-]/g, "_")}`;
  return rule === start || rule.startsWith(`${start}__`);
}

async function rulesIn(file: string): Promise<string[]> {
  try {
    const { permissions } = JSON.parse(await readFile(file, "utf8")) as { permissions?: unknown };
    if (!isObject(permissions)) return [];
    const lists = ["allow", "ask", "deny"].flatMap((key): unknown => permissions[key] ?? []);
    return [...new Set(lists.filter((rule) => typeof rule === "string"))];
  } catch {
    return [];
  }
}
