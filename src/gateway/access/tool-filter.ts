// Which tools a caller sees: the rules of its declaration, ready to be asked for every tool.

import { toWildcard } from "../../base/text/wildcard.ts";
import type {
  GatewayCaller,
  GatewayToolRules,
  ToolAnnotations,
  ToolTrait as Trait,
} from "../../model/index.ts";
import type { ToolView, ViewedServer, ViewedTool } from "./types.ts";

type ToolTest = (tool: ViewedTool) => boolean;
type ServerTest = (server: ViewedServer) => boolean;

/** Nothing when there are no rules: everything is seen. */
export function createView({ allow, deny }: Pick<GatewayCaller, "allow" | "deny">): ToolView | undefined {
  const allowed = toTests(allow, ({ tags }) => tags);
  const denied = toTests(deny, ({ tags, possibleTags = [] }) => [...tags, ...possibleTags]);
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

/** One test for each kind that is given; it holds when any entry of its list does. */
function toTests(
  rules: GatewayToolRules | undefined,
  tagsOf: (server: ViewedServer) => readonly string[],
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

/** What a server does not say is what MCP says is to be assumed: not read-only, destructive, not idempotent, open-world. */
export function hasTrait(annotations: ToolAnnotations | undefined, trait: Trait): boolean {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
  const readOnly = readOnlyHint === true;
  switch (trait) {
    case "read-only":
      return readOnly;
    case "not-read-only":
      return !readOnly;
    // The next two mean something only for tools that change anything.
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

/** The order in which rules are written, and what is written twice, change nothing. */
function canonical(rules: GatewayToolRules | undefined): unknown {
  const sorted = (list: readonly string[] | undefined): string[] | null =>
    list === undefined ? null : [...new Set(list)].sort();
  const { tools, servers, tags, annotations } = rules ?? {};
  return [tools, servers, tags, annotations].map(sorted);
}
