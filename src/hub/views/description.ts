// Description and capabilities of a view: of its only server, or of all servers together.

import { VERSION } from "../../client/index.ts";
import type { Description } from "../../upstream/index.ts";
import { isObject, type JsonObject, type ServerCapabilities } from "../../model/index.ts";
import { EMPTY, type Inventory } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";

const SPOKEN = { era: "modern", revision: "2026-07-28", transport: "memory" } as const;
/** Extensions whose messages can be routed: their ids name the server, or they use only merged lists. */
const ROUTABLE_EXTENSIONS = new Set(["io.modelcontextprotocol/tasks", "io.modelcontextprotocol/ui"]);

export function describeAlone({ alias, inventory }: Member): Description {
  // Before its first start or a login its capabilities are unknown. A client must list to learn why, and again after it.
  const isOpen = inventory === EMPTY;
  return {
    ...SPOKEN,
    info: inventory.info ?? { name: alias, version: "unknown" },
    capabilities: isOpen ? mergedCapabilities([], true) : ownCapabilities(inventory),
    instructions: inventory.instructions,
  };
}

export function describeTogether(name: string, members: readonly Member[]): Description {
  // A server that was disabled while it ran still has lists, which are not shown.
  const enabled = members.filter(({ config }) => config.enabled);
  const said = enabled.flatMap(({ alias, inventory: { instructions } }) =>
    instructions === undefined ? [] : [`## ${alias}\n\n${instructions}`],
  );
  return {
    ...SPOKEN,
    info: { name, version: VERSION },
    capabilities: mergedCapabilities(
      enabled.map(({ inventory }) => inventory),
      enabled.some(({ isPerCaller, inventory }) => isPerCaller && inventory === EMPTY),
    ),
    instructions: said.length === 0 ? undefined : said.join("\n\n"),
  };
}

/** `isOpen`: a server whose capabilities are known only after a login may have prompts and resources. */
function mergedCapabilities(inventories: readonly Inventory[], isOpen: boolean): ServerCapabilities {
  const all = inventories.map(({ capabilities }) => capabilities);
  const has = (name: string): boolean =>
    all.some((one) => one[name] !== undefined) || (isOpen && (name === "prompts" || name === "resources"));
  const extensions: JsonObject = {};
  for (const one of all) {
    for (const [name, settings] of Object.entries(isObject(one.extensions) ? one.extensions : {}))
      if (ROUTABLE_EXTENSIONS.has(name)) extensions[name] ??= settings;
  }
  return {
    // Declared even without tools, because a client that sees no tools capability never lists them again.
    tools: { listChanged: true },
    ...(has("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(has("resources")
      ? {
          resources: {
            listChanged: true,
            ...(isOpen || all.some(({ resources }) => resources?.subscribe === true)
              ? { subscribe: true }
              : {}),
          },
        }
      : {}),
    ...(has("completions") ? { completions: {} } : {}),
    ...(has("logging") ? { logging: {} } : {}),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
  };
}

/** The capabilities of one server through the hub: its own, with list change notifications. */
function ownCapabilities({ capabilities }: Inventory): ServerCapabilities {
  const announced = (name: "tools" | "prompts" | "resources"): JsonObject =>
    capabilities[name] === undefined ? {} : { [name]: { ...capabilities[name], listChanged: true } };
  const { tasks } = capabilities;
  const { list: _list, ...ownTasks } = isObject(tasks) ? tasks : {};
  return {
    ...capabilities,
    // A list of tasks would show those of every client of the server.
    ...(isObject(tasks) ? { tasks: ownTasks } : {}),
    ...announced("tools"),
    ...announced("prompts"),
    ...announced("resources"),
  };
}
