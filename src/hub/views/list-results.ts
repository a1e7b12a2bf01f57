// The lists of a view as they are given out: the same objects until something changes, with how long a client may keep them.

import type { JsonObject } from "../../model/index.ts";
import type { CacheHint, HintedList } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import type { Merged } from "./merge.ts";

/** How long a list of a server that says nothing about it may be kept; a change is announced before. */
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

  /** `sameForAll` says that nobody sees other tools of the same servers. */
  constructor(sameForAll: boolean) {
    this.#sameForAll = sameForAll;
  }

  of(method: keyof typeof LISTS, members: readonly Member[], table: Merged): JsonObject {
    const { field, list } = LISTS[method];
    for (const member of members) member.stock.refreshWhenOld(list, field);
    let result = this.#known.get(field);
    if (result === undefined) {
      const items = { ...table, resourceTemplates: table.templates }[field];
      const hints = members.map(({ inventory }) => inventory.hints?.[field]);
      result = { [field]: items, ...this.#hint(hints) };
      this.#known.set(field, result);
    }
    return result;
  }

  /** Something is not what it was. */
  clear(): void {
    this.#known.clear();
  }

  /** As short as the shortest, and private when any part is, or when others see something else. */
  #hint(hints: readonly (CacheHint | undefined)[]): JsonObject {
    const isPublic =
      this.#sameForAll && hints.length > 0 && hints.every((hint) => hint?.cacheScope === "public");
    return {
      ttlMs: Math.min(...hints.map((hint) => hint?.ttlMs ?? DEFAULT_TTL_MS), DEFAULT_TTL_MS),
      cacheScope: isPublic ? "public" : "private",
    };
  }
}
