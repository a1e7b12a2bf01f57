// Capabilities of a view: those of all its servers together, or of one.

import { isObject, type JsonObject, type ServerCapabilities } from "../../model/index.ts";
import type { Inventory } from "../member/inventory.ts";

/** Extensions whose messages can be routed: their ids name the server, or they use only merged lists. */
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
    // Declared even without tools, because a client that sees no tools capability never lists them again.
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

/** The capabilities of one server through the hub: its own, with list change notifications. */
export function ownCapabilities({ capabilities }: Inventory): ServerCapabilities {
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
