// Tool filter of a caller: its `allow` and `deny` rules, compiled to functions.

import { toWildcard } from "../../base/text/wildcard.ts";
import type {
  GatewayCaller,
  GatewayToolRules,
  ToolAnnotations,
  ToolTrait as Trait,
} from "../../model/index.ts";
import type { ToolFilter, FilteredServer, FilteredTool } from "./types.ts";

type ToolTest = (tool: FilteredTool) => boolean;
type ServerTest = (server: FilteredServer) => boolean;

/** Undefined when there are no rules: the caller sees every tool. */
export function createToolFilter({
  allow,
  deny,
}: Pick<GatewayCaller, "allow" | "deny">): ToolFilter | undefined {
  const allowed = toTests(allow, ({ tags }) => tags);
  const denied = toTests(deny, everyTag);
  const rules = [...allowed.tools, ...allowed.servers, ...denied.tools, ...denied.servers];
  if (rules.length === 0) return undefined;
  const admitsServer: ServerTest = (server) =>
    allowed.servers.every((test) => test(server)) && !denied.servers.some((test) => test(server));
  return {
    key: JSON.stringify([canonical(allow), canonical(deny)]),
    limitsTools: allowed.tools.length > 0 || denied.tools.length > 0,
    admitsServer,
    admits: (tool) =>
      admitsServer(tool) &&
      allowed.tools.every((test) => test(tool)) &&
      !denied.tools.some((test) => test(tool)),
  };
}

/** True for tools that match every kind of rule that is given, with any tag that they may have. */
export function createToolTest(rules: GatewayToolRules): ToolTest {
  const { tools, servers } = toTests(rules, everyTag);
  return (tool) => servers.every((test) => test(tool)) && tools.every((test) => test(tool));
}

function everyTag({ tags, possibleTags = [] }: FilteredServer): readonly string[] {
  return [...tags, ...possibleTags];
}

/** One test per kind of rule; it passes when any entry of the list matches. */
function toTests(
  rules: GatewayToolRules | undefined,
  tagsOf: (server: FilteredServer) => readonly string[],
): { tools: ToolTest[]; servers: ServerTest[] } {
  const { tools, servers, tags, annotations } = rules ?? {};
  const found = { tools: [] as ToolTest[], servers: [] as ServerTest[] };
  if (tools !== undefined) {
    const patterns = tools.map(toWildcard);
    found.tools.push(({ name, alias, own }) => {
      const dotted = `${alias}.${own}`;
      return patterns.some((matches) => matches(name) || matches(dotted));
    });
  }
  if (annotations !== undefined)
    found.tools.push((tool) => annotations.some((trait) => hasTrait(tool.annotations, trait)));
  if (servers !== undefined) {
    const aliases = new Set(servers);
    found.servers.push(({ alias }) => aliases.has(alias));
  }
  if (tags !== undefined) {
    const wanted = new Set(tags);
    found.servers.push((server) => tagsOf(server).some((tag) => wanted.has(tag)));
  }
  return found;
}

/** Missing hints have the defaults of MCP: not read-only, destructive, not idempotent, open-world. */
export function hasTrait(annotations: ToolAnnotations | undefined, trait: Trait): boolean {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
  const readOnly = readOnlyHint === true;
  switch (trait) {
    case "read-only":
      return readOnly;
    case "not-read-only":
      return !readOnly;
    // The destructive hint has a meaning only for tools that are not read-only.
    case "destructive":
      return !readOnly && destructiveHint !== false;
    case "not-destructive":
      return readOnly || destructiveHint === false;
    case "idempotent":
      return readOnly || idempotentHint === true;
    case "not-idempotent":
      return !readOnly && idempotentHint !== true;
    case "open-world":
      return openWorldHint !== false;
    case "not-open-world":
      return openWorldHint === false;
  }
}

/** Rules in canonical form: order and duplicates do not matter. */
function canonical(rules: GatewayToolRules | undefined): unknown {
  const sorted = (list: readonly string[] | undefined): string[] | null =>
    list === undefined ? null : [...new Set(list)].sort();
  const { tools, servers, tags, annotations } = rules ?? {};
  return [tools, servers, tags, annotations].map(sorted);
}
