// Inventory: the tools, prompts and resources that a server listed, and the difference of two inventories.

import {
  type Implementation,
  isObject,
  type JsonObject,
  type PromptDefinition,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  type ServerCapabilities,
  type ToolDefinition,
} from "../../model/index.ts";
import type { InventoryHashes } from "../pins/pinned-definitions.ts";
import { type Description, listAll, type Upstream } from "../../upstream/index.ts";

/** How long and for whom a list may be cached, as the server says. */
export interface CacheHint {
  readonly ttlMs?: number;
  readonly cacheScope?: "public" | "private";
}

export interface Inventory {
  readonly info?: Implementation;
  readonly instructions?: string;
  readonly hints?: Readonly<Partial<Record<HintedList, CacheHint>>>;
  readonly capabilities: ServerCapabilities;
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly templates: readonly ResourceTemplateDefinition[];
  /** Hashes of the definitions as the server sent them, for servers that are compared with the lock file. */
  readonly hashes?: InventoryHashes;
}

export type HintedList = "tools" | "prompts" | "resources" | "resourceTemplates";
export type ListName = "tools" | "prompts" | "resources";

export const EMPTY: Inventory = { capabilities: {}, tools: [], prompts: [], resources: [], templates: [] };

/**
 * Fetches these lists and keeps the others. Servers declare capabilities that they do not have: only tools are required,
 * and another list that cannot be fetched stays as it was.
 */
export async function fetchInventory(
  upstream: Upstream,
  lists: ReadonlySet<ListName>,
  before: Inventory,
  options: {
    /** Of the main connection; the lists may be read on another one. */
    description: Description;
    timeoutMs: number;
    maxPages: number;
    onLoop: (message: string) => void;
    onMissing: (method: string, reason: unknown) => void;
  },
): Promise<Inventory> {
  const { capabilities, info, instructions } = options.description;
  const hints: Partial<Record<HintedList, CacheHint>> = { ...before.hints };
  const list = async (
    wanted: ListName,
    method: string,
    field: HintedList,
    old: readonly JsonObject[],
  ): Promise<readonly JsonObject[]> => {
    if (capabilities[wanted] === undefined) return [];
    if (!lists.has(wanted)) return old;
    const { items, ttlMs, cacheScope } = await listAll(
      upstream,
      field,
      { method, timeoutMs: options.timeoutMs },
      options,
    );
    if (ttlMs !== undefined || cacheScope !== undefined) hints[field] = { ttlMs, cacheScope };
    else delete hints[field];
    return items.filter(isObject);
  };
  const optional: typeof list = (wanted, method, field, old) =>
    list(wanted, method, field, old).catch((reason: unknown) => {
      // Templates are newer than resources, and many servers lack them.
      if (field !== "resourceTemplates") options.onMissing(method, reason);
      return old;
    });
  const [tools, prompts, resources, templates] = await Promise.all([
    list("tools", "tools/list", "tools", before.tools),
    optional("prompts", "prompts/list", "prompts", before.prompts),
    optional("resources", "resources/list", "resources", before.resources),
    optional("resources", "resources/templates/list", "resourceTemplates", before.templates),
  ]);
  return {
    info,
    instructions,
    hints: Object.keys(hints).length === 0 ? undefined : hints,
    capabilities,
    tools: tools as readonly ToolDefinition[],
    prompts: prompts as readonly PromptDefinition[],
    resources: resources as readonly ResourceDefinition[],
    templates: templates as readonly ResourceTemplateDefinition[],
  };
}

export interface ToolChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export function diffTools(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): ToolChanges {
  const text = (tool: ToolDefinition): string => JSON.stringify(tool);
  const old = new Map(before.map((tool) => [tool.name, text(tool)]));
  const now = new Map(after.map((tool) => [tool.name, text(tool)]));
  return {
    added: [...now.keys()].filter((name) => !old.has(name)).toSorted(),
    changed: [...now]
      .filter(([name, value]) => old.has(name) && old.get(name) !== value)
      .map(([name]) => name)
      .toSorted(),
    removed: [...old.keys()].filter((name) => !now.has(name)).toSorted(),
  };
}

export function isNoChange({ added, changed, removed }: ToolChanges): boolean {
  return added.length + changed.length + removed.length === 0;
}
