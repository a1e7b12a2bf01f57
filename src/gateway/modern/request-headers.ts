// Headers of a modern request that repeat parts of its body for proxies: they must match the body.

import type { IncomingHttpHeaders } from "node:http";
import type { HubView } from "../../hub/index.ts";
import { HEADER, isObject, META, RPC, type JsonObject, type RpcRequest } from "../../model/index.ts";
import { type ParamHeader, paramHeaders } from "../../upstream/index.ts";
import { RpcRefusal } from "../common/messages.ts";

/** The parameter that the Mcp-Name header repeats, by method. */
const NAME_FIELDS: Readonly<Record<string, "name" | "uri" | "taskId">> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Throws when a header is missing or does not match the body. */
export function checkHeaders(headers: IncomingHttpHeaders, message: RpcRequest, view: HubView): void {
  const { method, params } = message;
  const declared = isObject(params?._meta) ? params._meta[META.PROTOCOL_VERSION] : undefined;
  // A revision that is missing in the body is reported later, as an error of the body.
  if (typeof declared === "string" && headers[HEADER.PROTOCOL_VERSION] !== declared)
    throw mismatch("MCP-Protocol-Version", headers[HEADER.PROTOCOL_VERSION], declared);
  if (headers[HEADER.METHOD] !== method) throw mismatch("Mcp-Method", headers[HEADER.METHOD], method);
  const field = NAME_FIELDS[method];
  const name = field === undefined ? undefined : params?.[field];
  if (typeof name === "string") {
    const given = headers[HEADER.NAME];
    if (given !== name && decode(given) !== name) throw mismatch("Mcp-Name", given, name);
  }
  if (method === "tools/call") checkParams(headers, params ?? {}, view);
}

/** Cache of the parameters that tools annotate with a header, by routing table. */
const annotatedParams = new WeakMap<object, Map<string, readonly ParamHeader[]>>();

function checkParams(
  headers: IncomingHttpHeaders,
  { name, arguments: args }: JsonObject,
  view: HubView,
): void {
  const { table } = view;
  let tools = annotatedParams.get(table);
  if (tools === undefined) {
    tools = new Map();
    for (const tool of table.tools) {
      const found = paramHeaders(tool.inputSchema);
      if ("headers" in found && found.headers.length > 0) tools.set(tool.name, found.headers);
    }
    annotatedParams.set(table, tools);
  }
  for (const { header, path } of tools.get(String(name)) ?? []) {
    const given = headers[header.toLowerCase()];
    const value = valueAt(args, path);
    if (value == null) {
      if (given !== undefined) throw mismatch(header, given, undefined);
    } else if (typeof given !== "string" || !same(decode(given), value)) {
      throw mismatch(header, given, JSON.stringify(value));
    }
  }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function same(given: string | undefined, value: unknown): boolean {
  if (given === undefined) return false;
  return typeof value === "number" ? given.trim() !== "" && Number(given) === value : given === String(value);
}

/** Decodes a header value; undefined when it is marked as Base64 and is not. */
function decode(given: string | string[] | undefined): string | undefined {
  if (typeof given !== "string") return undefined;
  if (!given.startsWith("=?base64?") || !given.endsWith("?=")) return given;
  const encoded = SENTINEL.exec(given)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? bytes.toString("utf8") : undefined;
}

function mismatch(
  header: string,
  given: string | string[] | undefined,
  expected: string | undefined,
): RpcRefusal {
  const what =
    given === undefined
      ? `the ${header} header is missing`
      : `the ${header} header is ${JSON.stringify(given).slice(0, 100)}, but the body has ${expected === undefined ? "no such value" : JSON.stringify(expected.slice(0, 100))}`;
  return new RpcRefusal(RPC.HEADER_MISMATCH, `Header mismatch: ${what}`);
}
