// Fetches a whole list page by page, and stops at servers whose list does not end.

import { PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { Call, Upstream } from "../upstream.ts";

export interface WholeList {
  readonly items: unknown[];
  /** How long the list may be cached; undefined when the server does not say. */
  readonly ttlMs: number | undefined;
  /** Private when any page is; undefined when the server does not say. */
  readonly cacheScope: "public" | "private" | undefined;
}

export async function listAll(
  upstream: Upstream,
  field: string,
  call: Call,
  options: { maxPages: number; onLoop: (message: string) => void },
): Promise<WholeList> {
  const items: unknown[] = [];
  const seen = new Set<unknown>();
  let ttlMs: number | undefined;
  let cacheScope: WholeList["cacheScope"];
  let cursor: unknown;
  for (let page = 0; page < options.maxPages; page += 1) {
    const params: JsonObject = { ...call.params, ...(cursor === undefined ? {} : { cursor }) };
    const result = await upstream.request({ ...call, params });
    if (!Array.isArray(result[field])) {
      throw new PortolanError(
        "PROTOCOL_ERROR",
        `${upstream.name} answered ${call.method} without a list of ${field}`,
        { server: upstream.name },
      );
    }
    for (const item of result[field] as unknown[]) items.push(item);
    if (typeof result.ttlMs === "number") ttlMs = Math.min(ttlMs ?? Infinity, Math.max(0, result.ttlMs));
    if (result.cacheScope === "private" || (result.cacheScope === "public" && cacheScope === undefined))
      cacheScope = result.cacheScope;
    cursor = result.nextCursor;
    if (typeof cursor !== "string" || cursor === "") return { items, ttlMs, cacheScope };
    if (seen.has(cursor)) {
      options.onLoop(`${call.method} repeats its cursor; the list ends here with ${items.length} entries`);
      return { items, ttlMs, cacheScope };
    }
    seen.add(cursor);
  }
  options.onLoop(
    `${call.method} has more than ${options.maxPages} pages; the list ends here with ${items.length} entries`,
  );
  return { items, ttlMs, cacheScope };
}
