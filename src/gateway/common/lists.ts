// Lists (tools, prompts, resources): divided into pages; and the fields that modern results must have.

import { merge } from "../../base/collections/merge.ts";
import { META, RPC, type JsonObject } from "../../model/index.ts";
import { RpcRefusal } from "./messages.ts";

/** The field of each list, and the key that sorts its entries. */
export const LISTS: Readonly<Record<string, { field: string; key: string }>> = {
  "tools/list": { field: "tools", key: "name" },
  "prompts/list": { field: "prompts", key: "name" },
  "resources/list": { field: "resources", key: "uri" },
  "resources/templates/list": { field: "resourceTemplates", key: "uriTemplate" },
};

/**
 * One page of a list. The cursor is the last key of the previous page, so that it stays valid when entries are added or removed.
 * A list that fits one page is returned unchanged.
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
    // The error below covers this case too.
  }
  throw new RpcRefusal(RPC.INVALID_PARAMS, "Invalid cursor: it does not belong to this list", {
    data: { hint: "Request the list again without a cursor." },
  });
}

/** The `_meta` that names the server in modern results. */
export interface ResultFrame {
  /** Added to results that have no `_meta`. */
  readonly info: JsonObject | undefined;
}

export function frameFor(info: JsonObject | undefined): ResultFrame {
  return { info: info === undefined ? undefined : { _meta: { [META.SERVER_INFO]: info } } };
}

/** Adds the fields that a modern result must have and that a legacy server does not send. */
export function modernResult(method: string, result: JsonObject, { info }: ResultFrame): JsonObject {
  const added = merge(
    result.resultType === undefined ? COMPLETE : undefined,
    result._meta === undefined ? info : undefined,
    needsCacheHint(method, result) ? UNCACHED : undefined,
  );
  return Object.assign(added, result);
}

const COMPLETE = { resultType: "complete" };
const UNCACHED = { ttlMs: 0, cacheScope: "private" };

/** `modernResult()` as JSON. */
export function modernText(method: string, result: JsonObject, frame: ResultFrame): string {
  return JSON.stringify(modernResult(method, result, frame));
}

/** A modern read result declares how long it may be cached; a legacy server sends no such field. */
function needsCacheHint(method: string, result: JsonObject): boolean {
  return (
    method === "resources/read" &&
    result.ttlMs === undefined &&
    (result.resultType ?? "complete") === "complete"
  );
}
