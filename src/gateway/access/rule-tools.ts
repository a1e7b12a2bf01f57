// Tool names in the rules of a gateway that no tool has: a rule for `files.write_fil` is valid, but has no effect.

import { type Diagnostic, suggest } from "../../errors/index.ts";
import type { Hub, OpenedWorkspace } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";

/** A server, as rules name its tools. */
export interface RuleServer {
  readonly alias: string;
  /** How the names of its tools begin in rules: `files.` and `mcp_files_`. */
  readonly prefixes: readonly string[];
  /** The names of its tools, in both forms; undefined while they are unknown. */
  readonly tools: readonly string[] | undefined;
}

/**
 * Reports such names as soon as the tools of their server are known, and forgets them when a tool has the name. The
 * returned function checks again, after a change of the settings.
 */
export function watchRuleTools(workspace: OpenedWorkspace, settings: () => GatewaySettings): () => void {
  let reported: readonly Diagnostic[] = [];
  const check = (): void => {
    const found = unknownRuleTools(settings(), () => serversOf(workspace.hub)).map(
      (one) => reported.find(({ message }) => message === one.message) ?? one,
    );
    workspace.forget((diagnostic) => reported.includes(diagnostic) && !found.includes(diagnostic));
    for (const diagnostic of found) if (!reported.includes(diagnostic)) workspace.report(diagnostic);
    reported = found;
  };
  workspace.events.on(
    ({ type }) => {
      if (type === "mcp.server_ready" || type === "mcp.tools_changed") check();
    },
    { calls: false },
  );
  check();
  return check;
}

/** Names of servers that do not exist are found when the config files are read. */
export function unknownRuleTools(
  settings: GatewaySettings,
  readServers: () => readonly RuleServer[],
): Diagnostic[] {
  const named = namedTools(settings);
  if (named.length === 0) return [];
  const servers = readServers();
  return named.flatMap(({ rule, name }) => {
    if (servers.some(({ tools = [] }) => tools.includes(name))) return [];
    // The name `mcp_files_old_read` may belong to `files` or to `files_old`.
    const owners = servers.flatMap((server) => {
      const prefix = server.prefixes.find((one) => name.startsWith(one));
      return prefix === undefined ? [] : [{ ...server, prefix }];
    });
    const [owner] = owners.toSorted((a, b) => b.prefix.length - a.prefix.length);
    if (owner === undefined || owners.some(({ tools }) => tools === undefined)) return [];
    const { alias, prefix, tools = [] } = owner;
    const own = tools.flatMap((tool) => (tool.startsWith(prefix) ? [tool.slice(prefix.length)] : []));
    const [nearest] = suggest(name.slice(prefix.length), own, 1);
    return [
      {
        code: "CONFIG_INVALID",
        severity: "warning",
        message: `${rule} names the tool ${JSON.stringify(name)}, but the server ${alias} has no such tool`,
        hint:
          nearest === undefined
            ? `A rule names a tool as ${alias}.<tool>. To see the tools: portolan list ${alias}`
            : `Did you mean ${JSON.stringify(`${prefix}${nearest}`)}?`,
      },
    ];
  });
}

/** The tools that rules name in full, without `*`, each with its place in portolan.yaml. */
function namedTools({ callers = [], approval = [], budgets = {}, loops }: GatewaySettings): {
  readonly rule: string;
  readonly name: string;
}[] {
  const rules: (readonly [rule: string, tools: readonly string[] | undefined])[] = [
    ...callers.flatMap(({ name, allow, deny }) => [
      [`allow of the caller ${name}`, allow?.tools] as const,
      [`deny of the caller ${name}`, deny?.tools] as const,
    ]),
    ...approval.map(({ tools }, index) => [`gateway.approval[${index}]`, tools] as const),
    ...Object.entries(budgets).map(([name, { tools }]) => [`the budget ${name}`, tools] as const),
    ["gateway.loops.except", loops?.except],
  ];
  return rules.flatMap(([rule, tools = []]) =>
    tools.filter((name) => !name.includes("*")).map((name) => ({ rule, name })),
  );
}

function serversOf(hub: Hub): RuleServer[] {
  const offered = [...hub.toolNames()].map(([, { server, name }]) => ({ server, name }));
  return hub.members.map(({ alias, config, inventory, state }) => {
    const own = new Set([
      // A rule may name a tool that the server's config leaves out.
      ...inventory.tools.map(({ name }) => name),
      // Resources and prompts may be tools, too.
      ...offered.flatMap(({ server, name }) => (server === alias ? [name] : [])),
    ]);
    // The list of the last run may be outdated.
    // A disabled server lists none, but a rule may name its tools: they do not belong to another server.
    const isKnown = config.enabled && (state === "ready" || (state !== "starting" && own.size > 0));
    const names = [...own].flatMap((name) => [`${alias}.${name}`, hub.fullToolName(alias, name)]);
    // The names of contracts do not begin with the name of a server.
    const isContracts = config.endpoint.transport === "contracts";
    const prefixes = isContracts ? [""] : [`${alias}.`, hub.fullToolName(alias, "")];
    return { alias, prefixes, tools: isKnown ? names : undefined };
  });
}
