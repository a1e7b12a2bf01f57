// Report of context cost: tokens by server and tool, and the parts that could be dropped.

import type { CalledTools } from "../../audit/index.ts";
import { isVisibleTo, type ServerConfig, type ToolDefinition } from "../../model/index.ts";
import type { ENCODING, TokenCounter } from "./counter.ts";

/** A tool as it is offered, with its server and the server's own name for it. */
export interface OfferedTool {
  readonly server: string;
  readonly own: string;
  readonly definition: ToolDefinition;
}

export interface ToolCost {
  readonly server: string;
  /** The name in the list. */
  readonly name: string;
  /** The server's own name. */
  readonly tool: string;
  readonly tokens: number;
  readonly description: number;
  readonly rest: number;
}

export interface ServerCost {
  readonly server: string;
  readonly tools: number;
  readonly tokens: number;
  readonly rest: number;
  /** Part of all tokens, from 0 to 1. */
  readonly share: number;
}

export interface Saving {
  readonly kind: "unused" | "duplicate" | "prefix" | "description";
  readonly tokens: number;
  readonly message: string;
  /** Lines for portolan.yaml that drop it; absent if no lines there can. */
  readonly yaml?: string;
}

export interface TokenReport {
  readonly encoding: typeof ENCODING;
  readonly tools: readonly ToolCost[];
  readonly servers: readonly ServerCost[];
  readonly tokens: number;
  readonly rest: number;
  /** The largest first. They overlap: a tool that is never called may have a long description. */
  readonly savings: readonly Saving[];
}

/** Longer descriptions are worth a look: most tools need less than a third of it. */
const LONG_DESCRIPTION = 300;
/** Fewer calls say nothing about the tools that are not among them. */
export const MIN_CALLS = 20;
const MAX_NAMED = 8;

/** Tells whether the entry of a server is in portolan.yaml, or in another file; undefined without an entry. */
type PlaceOf = (server: string) => "workspace" | "other" | undefined;

export function createReport(
  all: readonly OfferedTool[],
  counter: TokenCounter,
  called?: CalledTools,
  configs?: readonly ServerConfig[],
): TokenReport {
  const configOf = (server: string): ServerConfig | undefined =>
    configs?.find(({ alias }) => alias === server);
  const placeOf: PlaceOf = (server) => {
    if (configs === undefined) return "workspace";
    const origin = configOf(server)?.origin;
    return origin && (origin.format === "workspace" ? "workspace" : "other");
  };
  /** Servers with other arguments have other data, such as another folder. */
  const differ = (servers: readonly string[]): boolean =>
    new Set(servers.map((server) => JSON.stringify(configOf(server)?.endpoint))).size > 1;
  // Tools of apps can be hidden from the model, and then cost nothing.
  const offered = all.filter(({ definition }) => isVisibleTo("model", definition));
  const tools = offered
    .map(({ server, own, definition }): ToolCost => {
      const { name } = definition;
      return { server, name, tool: own, ...counter.definition(definition) };
    })
    .toSorted((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
  const tokens = sum(tools, "tokens");
  const servers = [...groupBy(tools, ({ server }) => server)].map(([server, own]): ServerCost => ({
    server,
    tools: own.length,
    tokens: sum(own, "tokens"),
    rest: sum(own, "rest"),
    share: tokens === 0 ? 0 : sum(own, "tokens") / tokens,
  }));
  const savings = [
    ...unused(tools, called, placeOf),
    ...duplicates(offered, tools, placeOf, differ),
    ...prefixes(offered, counter),
    ...longDescriptions(tools),
  ];
  return {
    encoding: counter.encoding,
    tools,
    servers: servers.toSorted((a, b) => b.tokens - a.tokens),
    tokens,
    rest: sum(tools, "rest"),
    savings: savings.toSorted((a, b) => b.tokens - a.tokens),
  };
}

/** Tools that no caller used since the audit log began. */
function unused(tools: readonly ToolCost[], called: CalledTools | undefined, placeOf: PlaceOf): Saving[] {
  if (called === undefined || called.calls < MIN_CALLS) return [];
  const never = tools.filter(({ server, tool }) => !called.names.has(`${server}.${tool}`));
  return [...groupBy(never, ({ server }) => server)].map(([server, own]) => {
    const day = called.since.slice(0, 10);
    return {
      kind: "unused",
      tokens: sum(own, "tokens"),
      message: `${countOf(own.length, "tool")} of ${server} ${own.length === 1 ? "was" : "were"} not called in ${called.calls} calls since ${day}: ${named(own)}${elsewhere([server], placeOf)}`,
      yaml: placeOf(server) === "workspace" ? dropYaml(server, own, tools) : undefined,
    };
  });
}

/** Tools with equal descriptions and schemas: the second one tells a model no more. */
function duplicates(
  offered: readonly OfferedTool[],
  tools: readonly ToolCost[],
  placeOf: PlaceOf,
  differ: (servers: readonly string[]) => boolean,
): Saving[] {
  const costs = new Map(tools.map((tool) => [tool.name, tool]));
  const equal = groupBy(offered, ({ server, own, definition }) =>
    JSON.stringify([own, definition.description?.replace(prefixOf(server), ""), definition.inputSchema]),
  );
  const repeated = [...equal.values()]
    .map((group) => group.flatMap(({ definition }) => costs.get(definition.name) ?? []))
    .filter((group) => group.length > 1);
  // Two configs of one server have many tools in common, which are one finding.
  const byServers = groupBy(repeated, (group) => JSON.stringify(group.map(({ server }) => server)));
  return [...byServers.values()].map((groups) => {
    const others = groups.flatMap(([, ...rest]) => rest);
    const first = groups[0] ?? [];
    const servers = first
      .map(({ server }) => server)
      .join(", ")
      .replace(/, ([^,]*)$/, " and $1");
    const names = groups.flatMap(([one]) => one?.tool ?? []);
    const isOne = groups.length === 1;
    const byServer = groupBy(others, ({ server }) => server);
    const isNeeded = differ(first.map(({ server }) => server));
    const isHere = [...byServer.keys()].every((server) => placeOf(server) === "workspace");
    const why = isNeeded
      ? "; the servers differ in their arguments or variables, so you may need all of them"
      : elsewhere([...byServer.keys()], placeOf);
    const lines = [...byServer].map(([server, own]) =>
      dropYaml(server, own, tools).replace("servers:\n", ""),
    );
    return {
      kind: "duplicate",
      tokens: sum(others, "tokens"),
      message: `${isOne ? named(first) : `${groups.length} tools of ${servers}`} have the same name, description and input schema${isOne ? "" : `: ${shortened(names)}`}${why}`,
      yaml: isHere && !isNeeded ? `servers:\n${lines.join("\n")}` : undefined,
    };
  });
}

/** The text before each description that `description_prefix` adds. */
function prefixes(offered: readonly OfferedTool[], counter: TokenCounter): Saving[] {
  const prefixed = offered.filter(
    ({ server, definition }) => definition.description?.startsWith(prefixOf(server)) === true,
  );
  const tokens = prefixed.reduce((total, { server }) => total + counter.text(prefixOf(server)), 0);
  if (tokens === 0) return [];
  const message = `the descriptions of ${countOf(prefixed.length, "tool")} begin with the name of their server, such as "${prefixOf(prefixed[0]?.server ?? "").trimEnd()}"`;
  return [{ kind: "prefix", tokens, message, yaml: "description_prefix: false" }];
}

function longDescriptions(tools: readonly ToolCost[]): Saving[] {
  const long = tools.filter(({ description }) => description > LONG_DESCRIPTION);
  if (long.length === 0) return [];
  const tokens = long.reduce((total, { description }) => total + description - LONG_DESCRIPTION, 0);
  const isOne = long.length === 1;
  const message = `${countOf(long.length, "description")} ${isOne ? "has" : "have"} more than ${LONG_DESCRIPTION} tokens; only the author of the server can shorten ${isOne ? "it" : "them"}: ${named(long)}`;
  return [{ kind: "description", tokens, message }];
}

/** A server of another file has no lines for portolan.yaml: an entry there needs its command or URL as well. */
function elsewhere(servers: readonly string[], placeOf: PlaceOf): string {
  const other = servers.filter((server) => placeOf(server) === "other");
  return other.length === 0
    ? ""
    : `; to leave them out, first move the config of ${other.join(", ")} to portolan.yaml`;
}

/** As `description_prefix: true` writes it. */
function prefixOf(server: string): string {
  return `[MCP: ${server}] `;
}

function named(tools: readonly ToolCost[]): string {
  return shortened(tools.map(({ server, tool }) => `${server}.${tool}`));
}

function shortened(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}

/** Leaves out these tools of a server, or the server if it has no others. */
function dropYaml(server: string, own: readonly ToolCost[], all: readonly ToolCost[]): string {
  if (all.every((tool) => tool.server !== server || own.includes(tool)))
    return serverYaml(server, "enabled: false");
  const names = own.map(({ tool }) => JSON.stringify(tool)).toSorted();
  return serverYaml(server, `tool_blocklist: [${names.join(", ")}]`);
}

/** Aliases need no quotes in YAML only if they are plain words; JSON is YAML too. */
function serverYaml(server: string, line: string): string {
  return `servers:\n  ${/^[A-Za-z][\w-]*$/.test(server) ? server : JSON.stringify(server)}:\n    ${line}`;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function sum(tools: readonly ToolCost[], part: "tokens" | "rest"): number {
  return tools.reduce((total, tool) => total + tool[part], 0);
}

function countOf(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
