// The lists `tool_allowlist` and `tool_blocklist` of servers: names in them that no tool has, and the tools that they hide.

import { type Diagnostic, didYouMean, type Report } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { EventBus } from "../events.ts";
import type { Hub } from "../hub.ts";
import { isAllowedTool } from "../views/naming.ts";

/** The parts of a member that this file reads. */
export interface ListedServer {
  readonly alias: string;
  readonly config: Pick<ServerConfig, "allowTools" | "blockTools" | "enabled" | "endpoint" | "origin">;
  readonly inventory: { readonly tools: readonly { readonly name: string }[] };
  readonly state: string;
}

const LISTS = { allowTools: "tool_allowlist", blockTools: "tool_blocklist" } as const;

/** Reports such names as soon as the tools of their servers are known, and forgets them when a tool has the name. */
export function watchToolLists(
  hub: Pick<Hub, "members">,
  events: Pick<EventBus, "on">,
  { report, forget }: { report: Report; forget: (isOver: (diagnostic: Diagnostic) => boolean) => void },
): void {
  let reported: readonly Diagnostic[] = [];
  const check = (): void => {
    const found = unknownListedTools(hub.members).map(
      (one) => reported.find(({ message }) => message === one.message) ?? one,
    );
    forget((diagnostic) => reported.includes(diagnostic) && !found.includes(diagnostic));
    for (const diagnostic of found) if (!reported.includes(diagnostic)) report(diagnostic);
    reported = found;
  };
  events.on(
    ({ type }) => {
      if (type === "mcp.server_ready" || type === "mcp.tools_changed") check();
    },
    { calls: false },
  );
  check();
}

export function unknownListedTools(servers: readonly ListedServer[]): Diagnostic[] {
  return servers.flatMap((server) => {
    const { alias, config } = server;
    const tools = knownTools(server);
    if (tools === undefined) return [];
    return (["allowTools", "blockTools"] as const).flatMap((list) => {
      const unknown = (config[list] ?? []).filter((name) => !name.includes("*") && !tools.includes(name));
      // A manifest can have one list for all its servers.
      const others = servers.filter((one) => one !== server && one.config.origin.file === config.origin.file);
      const isElsewhere = (name: string): boolean =>
        others.some((one) => one.config[list]?.includes(name) && knownTools(one)?.includes(name) !== false);
      return unknown
        .filter((name) => !isElsewhere(name))
        .map((name): Diagnostic => {
          const message = `${LISTS[list]} of ${alias} names the tool ${JSON.stringify(name)}, but the server has no such tool`;
          const hint = didYouMean(name, tools) ?? `The tools of ${alias} are ${shown(tools)}.`;
          // Without `server`, so that a new generation of the server does not end it.
          return { code: "CONFIG_INVALID", severity: "warning", message, hint };
        });
    });
  });
}

/** Why a tool that its server has is not offered; undefined if no list hides it. */
export function hiddenByList(hub: Pick<Hub, "members" | "fullToolName">, tool: string): string | undefined {
  for (const { alias, config, inventory } of hub.members)
    for (const { name } of inventory.tools)
      if (hub.fullToolName(alias, name) === tool && !isAllowedTool(config, name))
        return `${alias} has this tool, but tool_allowlist or tool_blocklist in its config hides it.`;
  return undefined;
}

const MAX_SHOWN = 10;

function shown(tools: readonly string[]): string {
  return [...tools.slice(0, MAX_SHOWN), ...(tools.length > MAX_SHOWN ? ["…"] : [])].join(", ");
}

/** Undefined while they are unknown, and for contracts, which have no lists. */
function knownTools({ config, inventory, state }: ListedServer): string[] | undefined {
  if (!config.enabled || config.endpoint.transport === "contracts") return undefined;
  const names = inventory.tools.map(({ name }) => name);
  // The list of the last run may be outdated.
  return state === "ready" || (state !== "starting" && names.length > 0) ? names : undefined;
}
