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

/** One kind of entries of a list of rules. */
interface Rule<T> {
  readonly kind: keyof GatewayToolRules;
  readonly entries: readonly string[];
  /** The first entry that matches. */
  readonly match: (subject: T) => string | undefined;
}

interface Rules {
  readonly tools: Rule<FilteredTool>[];
  readonly servers: Rule<FilteredServer>[];
}

/** The part of a caller that decides which tools it may use. */
export type CallerAccess = Pick<GatewayCaller, "name" | "allow" | "deny">;

/** Undefined when there are no rules: the caller sees every tool. */
export function createToolFilter({ allow, deny }: Omit<CallerAccess, "name">): ToolFilter | undefined {
  const allowed = toRules(allow, ({ tags }) => tags);
  const denied = toRules(deny, everyTag);
  const rules = [...allowed.tools, ...allowed.servers, ...denied.tools, ...denied.servers];
  if (rules.length === 0) return undefined;
  const refusalOfServer = (server: FilteredServer): string | undefined =>
    findRefusal(server, allowed.servers, denied.servers);
  const refusalOf = (tool: FilteredTool): string | undefined =>
    refusalOfServer(tool) ?? findRefusal(tool, allowed.tools, denied.tools);
  return {
    key: JSON.stringify([canonical(allow), canonical(deny)]),
    limitsTools: allowed.tools.length > 0 || denied.tools.length > 0,
    refusalOf,
    refusalOfServer,
    admitsServer: (server) => refusalOfServer(server) === undefined,
    admits: (tool) => refusalOf(tool) === undefined,
  };
}

/** True for tools that match every kind of rule that is given, with any tag that they may have. */
export function createToolTest(rules: GatewayToolRules): ToolTest {
  const { tools, servers } = toRules(rules, everyTag);
  return (tool) =>
    servers.every(({ match }) => match(tool) !== undefined) &&
    tools.every(({ match }) => match(tool) !== undefined);
}

const SHOWN_ENTRIES = 10;

/** A match in any kind denies; every kind that allows must match. */
function findRefusal<T>(
  subject: T,
  allowed: readonly Rule<T>[],
  denied: readonly Rule<T>[],
): string | undefined {
  for (const { kind, match } of denied) {
    const entry = match(subject);
    if (entry !== undefined) return `deny.${kind}: ${entry}`;
  }
  const missing = allowed.find(({ match }) => match(subject) === undefined);
  if (missing === undefined) return undefined;
  const { kind, entries } = missing;
  const shown = entries.slice(0, SHOWN_ENTRIES).join(", ");
  return `allow.${kind}: only ${shown === "" ? "(nothing)" : shown}${entries.length > SHOWN_ENTRIES ? ", …" : ""}`;
}

function everyTag({ tags, possibleTags = [] }: FilteredServer): readonly string[] {
  return [...tags, ...possibleTags];
}

/** One rule for each kind of entries. */
function toRules(
  rules: GatewayToolRules | undefined,
  tagsOf: (server: FilteredServer) => readonly string[],
): Rules {
  const { tools, servers, tags, annotations } = rules ?? {};
  const found: Rules = { tools: [], servers: [] };
  if (tools !== undefined) {
    const patterns = tools.map((entry) => ({ entry, matches: toWildcard(entry) }));
    found.tools.push({
      kind: "tools",
      entries: tools,
      match: ({ name, alias, own }) => {
        const dotted = `${alias}.${own}`;
        return patterns.find(({ matches }) => matches(name) || matches(dotted))?.entry;
      },
    });
  }
  if (annotations !== undefined)
    found.tools.push({
      kind: "annotations",
      entries: annotations,
      match: (tool) => annotations.find((trait) => hasTrait(tool.annotations, trait)),
    });
  if (servers !== undefined)
    found.servers.push({
      kind: "servers",
      entries: servers,
      match: ({ alias }) => (servers.includes(alias) ? alias : undefined),
    });
  if (tags !== undefined)
    found.servers.push({
      kind: "tags",
      entries: tags,
      match: (server) => {
        const has = tagsOf(server);
        return tags.find((tag) => has.includes(tag));
      },
    });
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
