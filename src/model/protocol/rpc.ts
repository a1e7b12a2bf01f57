// JSON-RPC message types, protocol revisions, error codes and `_meta` keys.

import { isObject, type JsonObject } from "../json/json.ts";

export type RequestId = number | string;

export interface RpcRequest {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

export interface RpcNotification {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

export interface RpcResponse {
  jsonrpc: "2.0";
  id: RequestId | null;
  result?: JsonObject;
  error?: RpcErrorObject;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

export const MODERN_REVISION = "2026-07-28";
export const LEGACY_REVISION = "2025-11-25";
/** The list is sorted from newest to oldest. */
export const LEGACY_REVISIONS: readonly string[] = [
  LEGACY_REVISION,
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

export const RPC = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  HEADER_MISMATCH: -32020,
  MISSING_CAPABILITY: -32021,
  UNSUPPORTED_VERSION: -32022,
} as const;

export const META = {
  PROTOCOL_VERSION: "io.modelcontextprotocol/protocolVersion",
  CLIENT_INFO: "io.modelcontextprotocol/clientInfo",
  CLIENT_CAPABILITIES: "io.modelcontextprotocol/clientCapabilities",
  LOG_LEVEL: "io.modelcontextprotocol/logLevel",
  SERVER_INFO: "io.modelcontextprotocol/serverInfo",
  SUBSCRIPTION_ID: "io.modelcontextprotocol/subscriptionId",
} as const;

/** Key in the `_meta` of a tool result. Its value says how the output violates the tool's outputSchema. */
export const OUTPUT_MISMATCH = "portolan/outputMismatch";

/** Returns true for error codes that only a server of the modern era sends. */
export function isModernErrorCode(code: unknown): boolean {
  return code === RPC.HEADER_MISMATCH || code === RPC.MISSING_CAPABILITY || code === RPC.UNSUPPORTED_VERSION;
}

/** Returns true for parsed JSON that has the shape of a JSON-RPC message. The transports ignore anything else. */
export function isRpcMessage(value: unknown): value is RpcMessage {
  if (!isObject(value)) return false;
  if (typeof value.method === "string") return value.params == null || isObject(value.params);
  return value.id !== undefined && ("result" in value || "error" in value);
}

/** Returns true for requests and notifications, false for responses. Some libraries write a null `method` into responses. */
export function hasMethod(message: RpcMessage): message is RpcRequest | RpcNotification {
  return "method" in message && typeof message.method === "string";
}

/** Parses one message, or a batch as revision 2025-03-26 allowed. Text that is not JSON returns one undefined. */
export function parseMessages(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [undefined];
  }
}
