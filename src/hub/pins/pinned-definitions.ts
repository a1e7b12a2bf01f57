// The definitions of a server that are pinned: its tools, and its prompts and resources where they are offered as tools.

import type { JsonObject, ServerConfig } from "../../model/index.ts";
import type { Inventory } from "../member/inventory.ts";
import type { HashedTool } from "./pin-state.ts";

/** The hashes of all definitions, in the order of `pinnedDefinitions`. */
export interface InventoryHashes {
  readonly tools: readonly (string | null)[];
  readonly prompts: readonly (string | null)[];
  readonly resources: readonly (string | null)[];
}

type Parts = Readonly<Record<keyof InventoryHashes, readonly JsonObject[]>>;

/** Names of the tools that Portolan itself adds. */
export const LIST_RESOURCES = "list_resources";
export const READ_RESOURCE = "read_resource";

export function promptToolName(prompt: string): string {
  return `get_prompt_${prompt}`;
}

/**
 * Of a prompt that is offered as a tool, the server's own text is pinned. The two tools for resources have texts of
 * Portolan, which may change with its version, so that only their names are pinned.
 */
export function pinnedDefinitions({ tools, prompts }: Pick<Inventory, "tools" | "prompts">): Parts {
  return {
    tools,
    prompts: prompts.map((prompt) => ({ ...prompt, name: promptToolName(prompt.name) })),
    resources: [{ name: LIST_RESOURCES }, { name: READ_RESOURCE }],
  };
}

/** The definitions that the config offers as tools, each with its hash. Undefined without hashes. */
export function offeredDefinitions(
  { resourceTools, promptTools }: Pick<ServerConfig, "resourceTools" | "promptTools">,
  inventory: Inventory,
): readonly { readonly definition: JsonObject; readonly hash: string | null }[] | undefined {
  const { hashes, capabilities } = inventory;
  if (hashes === undefined) return undefined;
  const parts = pinnedDefinitions(inventory);
  const kinds: readonly (keyof InventoryHashes)[] = [
    "tools",
    ...(promptTools === true && capabilities.prompts !== undefined ? (["prompts"] as const) : []),
    ...(resourceTools === true && capabilities.resources !== undefined ? (["resources"] as const) : []),
  ];
  return kinds.flatMap((kind) =>
    parts[kind].map((definition, index) => ({ definition, hash: hashes[kind][index] ?? null })),
  );
}

export function toHashedTools(
  offered: ReturnType<typeof offeredDefinitions>,
): readonly HashedTool[] | undefined {
  return offered?.map(({ definition, hash }) => [String(definition.name), hash] as const);
}
