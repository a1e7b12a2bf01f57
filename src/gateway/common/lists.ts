// Lists in pages, and written as JSON once: the same list is the same text until something changes.

import { META, RPC, type JsonObject } from "../../model/index.ts";
import { RpcRefusal } from "./messages.ts";

/** The field of each list, and what its entries are sorted by. */
export const LISTS: Readonly<Record<string, { field: string; key: string }>> = {
  "tools/list": { field: "tools", key: "name" },
  "prompts/list": { field: "prompts", key: "name" },
  "resources/list": { field: "resources", key: "uri" },
  "resources/templates/list": { field: "resourceTemplates", key: "uriTemplate" },
};

/**
 * One page of a list. The cursor is the last key of the page before, so that it holds whatever is added or removed
 * meanwhile. A list that fits one page is given back as it is.
 */
export function pageOf(method: string, whole: JsonObject, cursor: unknown, pageSize: number): JsonObject {
  const { field, key } = LISTS[method] as { field: string; key: string };
  const items = whole[field] as readonly JsonObject[];
  if (cursor === undefined && items.length <= pageSize) return whole;
  const after = cursor === undefined ? undefined : readCursor(method, cursor);
  const start = after === undefined ? 0 : items.findIndex((item) => String(item[key]) > after);
  const rest = start === -1 ? [] : items.slice(start);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    ...whole,
    [field]: page,
    ...(rest.length > page.length && last !== undefined
      ? { nextCursor: writeCursor(method, String(last[key])) }
      : {}),
  };
}

function writeCursor(method: string, last: string): string {
  return Buffer.from(JSON.stringify([method, last])).toString("base64url");
}

function readCursor(method: string, cursor: unknown): string {
  try {
    const [of, last] = JSON.parse(Buffer.from(String(cursor), "base64url").toString()) as unknown[];
    if (of === method && typeof last === "string") return last;
  } catch {
    // Told below.
  }
  throw new RpcRefusal(RPC.INVALID_PARAMS, "Invalid cursor: it is not one of this list", {
    data: { hint: "Ask for the list again without a cursor." },
  });
}

/** What a modern result says about who made it. */
export interface ResultFrame {
  /** For results that have no `_meta` of their own. */
  readonly info: JsonObject | undefined;
}

export function frameFor(info: JsonObject | undefined): ResultFrame {
  return { info: info === undefined ? undefined : { _meta: { [META.SERVER_INFO]: info } } };
}

/** A result as a modern client must get it: what the server said, and what it must have said besides. */
export function modernResult(method: string, result: JsonObject, { info }: ResultFrame): JsonObject {
  return {
    ...(result.resultType === undefined ? COMPLETE : undefined),
    ...(result._meta === undefined ? info : undefined),
    ...(needsCacheHint(method, result) ? UNCACHED : undefined),
    ...result,
  };
}

const COMPLETE = { resultType: "complete" };
const UNCACHED = { ttlMs: 0, cacheScope: "private" };

/** The same, written down. */
export function modernText(method: string, result: JsonObject, frame: ResultFrame): string {
  return JSON.stringify(modernResult(method, result, frame));
}

/** A read resource may be kept only as long as its server says; a legacy one says nothing. */
function needsCacheHint(method: string, result: JsonObject): boolean {
  return (
    method === "resources/read" &&
    result.ttlMs === undefined &&
    (result.resultType ?? "complete") === "complete"
  );
}
