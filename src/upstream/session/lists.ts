// Lists of a server: fetched as a whole page by page, and pages of tools without invalid tools.

import { PortolanError, type Report } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { Call, Upstream } from "../upstream.ts";
import { paramHeaders, type ParamHeader } from "./param-headers.ts";

export interface WholeList {
  readonly items: unknown[];
  /** How long the list may be cached; undefined when the server does not say. */
  readonly ttlMs: number | undefined;
  /** Private when any page is; undefined when the server does not say. */
  readonly cacheScope: "public" | "private" | undefined;
}

/** Fetches a whole list, and stops at servers whose list does not end. */
export async function listAll(
  upstream: Pick<Upstream, "name" | "request">,
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
      options.onLoop(
        `${call.method} returned the same cursor twice; Portolan uses only the ${items.length} entries that it has received`,
      );
      return { items, ttlMs, cacheScope };
    }
    seen.add(cursor);
  }
  options.onLoop(
    `${call.method} has more than ${options.maxPages} pages; Portolan uses their first ${items.length} entries`,
  );
  return { items, ttlMs, cacheScope };
}

interface ToolPage {
  readonly result: JsonObject;
  /** Headers that calls of these tools need, for HTTP transports. */
  readonly headers: ReadonlyMap<string, readonly ParamHeader[]>;
}

/** Reads one page of tools/list: drops invalid tools one by one and keeps the rest. */
export function readToolPage(
  result: JsonObject,
  options: { withHeaders: boolean; server: string; report: Report },
): ToolPage {
  const headers = new Map<string, readonly ParamHeader[]>();
  if (!Array.isArray(result.tools)) return { result, headers };
  const seen = new Set<string>();
  const tools = result.tools.filter((tool: unknown) => {
    const problem =
      toolProblem(tool) ??
      duplicate(tool as JsonObject, seen) ??
      headerProblem(tool as JsonObject, options, headers);
    if (problem === undefined) return true;
    const name = isObject(tool) && typeof tool.name === "string" ? tool.name : undefined;
    options.report({
      code: "TOOL_DROPPED",
      severity: "warning",
      server: options.server,
      tool: name,
      message: `${name === undefined ? "a tool" : `tool "${name.slice(0, 128)}"`} is left out: ${problem}`,
    });
    return false;
  });
  return { result: { ...result, tools }, headers };
}

function toolProblem(tool: unknown): string | undefined {
  if (!isObject(tool)) return "its definition is not an object";
  if (typeof tool.name !== "string" || tool.name === "") return "it has no name";
  if (!isObject(tool.inputSchema)) return "it has no inputSchema";
  const type = tool.inputSchema.type;
  // A schema without a type can still be used as the schema of an object.
  if (type !== undefined && type !== "object") return "its inputSchema does not describe an object";
  if (tool.description !== undefined && typeof tool.description !== "string")
    return "its description is not text";
  return undefined;
}

function duplicate(tool: JsonObject, seen: Set<string>): string | undefined {
  const name = tool.name as string;
  if (seen.has(name)) return "another tool of this server has the same name";
  seen.add(name);
  return undefined;
}

function headerProblem(
  tool: JsonObject,
  options: { withHeaders: boolean },
  headers: Map<string, readonly ParamHeader[]>,
): string | undefined {
  if (!options.withHeaders) return undefined;
  const found = paramHeaders(tool.inputSchema as JsonObject);
  if ("problem" in found) return found.problem;
  if (found.headers.length > 0) headers.set(tool.name as string, found.headers);
  return undefined;
}
