// List results of a view: cached until something changes, with the time that a client may cache them.

import type { JsonObject } from "../../model/index.ts";
import type { CacheHint, HintedList } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import type { Merged } from "./merge.ts";

/** The cache time for a server that gives none; changes are announced anyway. */
const DEFAULT_TTL_MS = 60_000;

const LISTS = {
  "tools/list": { field: "tools", list: "tools" },
  "prompts/list": { field: "prompts", list: "prompts" },
  "resources/list": { field: "resources", list: "resources" },
  "resources/templates/list": { field: "resourceTemplates", list: "resources" },
} as const;

export class ListResults {
  readonly #known = new Map<HintedList, JsonObject>();
  readonly #sameForAll: boolean;

  /** `sameForAll` is true when all clients see the same tools. */
  constructor(sameForAll: boolean) {
    this.#sameForAll = sameForAll;
  }

  of(method: keyof typeof LISTS, members: readonly Member[], table: Merged): JsonObject {
    const { field, list } = LISTS[method];
    for (const member of members) member.inventoryCache.refreshWhenOld(list, field);
    let result = this.#known.get(field);
    if (result === undefined) {
      const items = { ...table, resourceTemplates: table.templates }[field];
      const hints = members.map(({ inventory }) => inventory.hints?.[field]);
      const isOwn = members.some(({ isPerCaller }) => isPerCaller);
      result = { [field]: items, ...this.#hint(hints, isOwn) };
      this.#known.set(field, result);
    }
    return result;
  }

  /** The lists changed. */
  clear(): void {
    this.#known.clear();
  }

  /** The shortest time of all servers. Private if any part is, or if clients see different tools. */
  #hint(hints: readonly (CacheHint | undefined)[], isOwn: boolean): JsonObject {
    const isPublic =
      this.#sameForAll && !isOwn && hints.length > 0 && hints.every((hint) => hint?.cacheScope === "public");
    return {
      ttlMs: Math.min(...hints.map((hint) => hint?.ttlMs ?? DEFAULT_TTL_MS), DEFAULT_TTL_MS),
      cacheScope: isPublic ? "public" : "private",
    };
  }
}
