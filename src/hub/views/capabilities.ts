// What many servers together can do, as one server would say it.

import { isObject, type JsonObject, type ServerCapabilities } from "../../model/index.ts";
import type { Inventory } from "../member/inventory.ts";

/** Extensions whose messages can be told apart by server: their ids are encoded, or they only use what is merged anyway. */
const ROUTABLE_EXTENSIONS = new Set(["io.modelcontextprotocol/tasks", "io.modelcontextprotocol/ui"]);

export function mergedCapabilities(inventories: readonly Inventory[]): ServerCapabilities {
  const all = inventories.map(({ capabilities }) => capabilities);
  const has = (name: string): boolean => all.some((one) => one[name] !== undefined);
  const extensions: JsonObject = {};
  for (const one of all) {
    for (const [name, settings] of Object.entries(isObject(one.extensions) ? one.extensions : {}))
      if (ROUTABLE_EXTENSIONS.has(name)) extensions[name] ??= settings;
  }
  return {
    // Said even when there are none yet: whoever is told so at the start would never ask again.
    tools: { listChanged: true },
    ...(has("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(has("resources")
      ? {
          resources: {
            listChanged: true,
            ...(all.some(({ resources }) => resources?.subscribe === true) ? { subscribe: true } : {}),
          },
        }
      : {}),
    ...(has("completions") ? { completions: {} } : {}),
    ...(has("logging") ? { logging: {} } : {}),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
  };
}

/** What one server alone can do, through the hub: all that it says itself, and that changes of its lists are announced. */
export function ownCapabilities({ capabilities }: Inventory): ServerCapabilities {
  const announced = (name: "tools" | "prompts" | "resources"): JsonObject =>
    capabilities[name] === undefined ? {} : { [name]: { ...capabilities[name], listChanged: true } };
  const { tasks } = capabilities;
  const { list: _list, ...ownTasks } = isObject(tasks) ? tasks : {};
  return {
    ...capabilities,
    // A list of tasks would show those of every client that shares the server.
    ...(isObject(tasks) ? { tasks: ownTasks } : {}),
    ...announced("tools"),
    ...announced("prompts"),
    ...announced("resources"),
  };
}
