// Attributes of spans and metrics, by the semantic conventions of OpenTelemetry for MCP (status: development).

import { RPC } from "../model/index.ts";
import type { CallRecord, Phase } from "./record.ts";

export type Attributes = Record<string, string | number>;

/** Upper bounds of the buckets of operation durations, in seconds. */
export const DURATION_BUCKETS: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

export const SERVER_DURATION = "mcp.server.operation.duration";
export const CLIENT_DURATION = "mcp.client.operation.duration";

/** Names of methods come from clients, so that any other one counts as `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/cancel",
  "tasks/update",
]);

const RESOURCE_NOT_FOUND = -32002;
/** Faults of the client, which are no errors of a server that reports them. */
const CLIENT_FAULTS: ReadonlySet<number> = new Set([
  RPC.PARSE_ERROR,
  RPC.INVALID_REQUEST,
  RPC.METHOD_NOT_FOUND,
  RPC.INVALID_PARAMS,
  RESOURCE_NOT_FOUND,
]);

export function methodName(method: string): string {
  return METHODS.has(method) ? method : "_OTHER";
}

/** Span names contain the name of a tool or prompt, but no URI, to limit the number of distinct names. */
export function spanName(method: string, target: string | undefined): string {
  const name = methodName(method);
  return target !== undefined && (method === "tools/call" || method === "prompts/get")
    ? `${name} ${target}`
    : name;
}

/** `error.type` on the side of the server: undefined if the client was at fault. */
export function serverErrorType({
  outcome,
  rpcCode,
}: Pick<CallRecord, "outcome" | "rpcCode">): string | undefined {
  if (outcome === "ok" || outcome === "input_required") return undefined;
  if (outcome === "tool_error" || outcome === "cancelled") return outcome;
  if (rpcCode === undefined) return "_OTHER";
  return CLIENT_FAULTS.has(rpcCode) ? undefined : String(rpcCode);
}

/** `error.type` on the side of the client: every error counts. */
export function clientErrorType({ outcome, rpcCode, code }: Phase): string | undefined {
  if (outcome === "ok" || outcome === "input_required") return undefined;
  if (outcome === "tool_error" || outcome === "cancelled") return outcome;
  return rpcCode === undefined ? (code?.toLowerCase() ?? "_OTHER") : String(rpcCode);
}

/** Attributes of the metric about requests of clients. A name that no server has is left out: clients could send any number of them. */
export function serverAttributes(record: CallRecord): Attributes {
  const isKnown = record.server !== undefined;
  return withoutUndefined({
    "mcp.method.name": methodName(record.method),
    ...targetAttributes(record.method, isKnown ? record.target : undefined),
    "error.type": serverErrorType(record),
    "rpc.response.status_code": record.rpcCode === undefined ? undefined : String(record.rpcCode),
    "mcp.protocol.version": record.revision,
    ...transportAttributes(record.transport),
  });
}

/** Attributes of the metric about requests to servers. */
export function clientAttributes(phase: Phase): Attributes {
  return withoutUndefined({
    "mcp.method.name": methodName(phase.method),
    ...targetAttributes(phase.method, phase.target),
    "error.type": clientErrorType(phase),
    "rpc.response.status_code": phase.rpcCode === undefined ? undefined : String(phase.rpcCode),
    "mcp.protocol.version": phase.revision,
    ...transportAttributes(phase.transport),
    "server.address": phase.address,
    "server.port": phase.port,
    "portolan.server": phase.server,
  });
}

export function targetAttributes(
  method: string,
  target: string | undefined,
): Record<string, string | undefined> {
  if (method === "tools/call") return { "gen_ai.tool.name": target, "gen_ai.operation.name": "execute_tool" };
  return method === "prompts/get" ? { "gen_ai.prompt.name": target } : {};
}

export function transportAttributes(transport: string | undefined): Record<string, string | undefined> {
  switch (transport) {
    case "stdio":
      return { "network.transport": "pipe" };
    case "websocket":
      return { "network.transport": "tcp", "network.protocol.name": "websocket" };
    case "http":
    case "sse":
      return { "network.transport": "tcp", "network.protocol.name": "http" };
    default:
      return {};
  }
}

export function withoutUndefined(given: Record<string, string | number | undefined>): Attributes {
  const attributes: Attributes = {};
  for (const name in given) {
    const value = given[name];
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}
