// Messages to clients, written as JSON once.

import { ERROR_CODES, isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import { type JsonObject, RPC, type RequestId, type RpcErrorObject } from "../../model/index.ts";

/** In one go: a text that is put together from large parts is copied once more before it is sent. */
export function writeAnswer(
  id: RequestId,
  answer: { result: JsonObject } | { error: RpcErrorObject },
): string {
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, ...answer });
  } catch {
    return writeError(id, "error" in answer ? answer.error : UNWRITABLE);
  }
}

/** What is nested too deeply can be read, but not written. */
const UNWRITABLE: RpcErrorObject = {
  code: RPC.INTERNAL,
  message: "The server's answer is nested too deeply to be passed on",
};

export function writeResult(id: RequestId, resultText: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultText}}`;
}

/** Without an id when the request could not be read. Data that cannot be written is left out. */
export function writeError(id: RequestId | null, error: RpcErrorObject): string {
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, error });
  } catch {
    return JSON.stringify({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } });
  }
}

export function writeNotification(method: string, params?: JsonObject): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params === undefined ? "" : `,"params":${JSON.stringify(params)}`}}`;
}

export function writeRequest(id: RequestId, method: string, params: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`;
}

/** An error with a code of the protocol's own, that is about the client's request. */
export class RpcRefusal extends Error {
  readonly error: RpcErrorObject;
  /** The HTTP status, where it is not the one that the code implies. */
  readonly status: number | undefined;

  constructor(code: number, message: string, options: { data?: unknown; status?: number } = {}) {
    super(message);
    this.error = { code, message, ...(options.data === undefined ? {} : { data: options.data }) };
    this.status = options.status;
  }
}

/** Codes of the hop to a server that mean nothing to the client, or that its revision does not have. */
const HOP_CODES = new Set<number>([RPC.HEADER_MISMATCH, RPC.UNSUPPORTED_VERSION]);
const LEGACY_RESOURCE_NOT_FOUND = -32002;

/** What a failed request is answered with. What the server said about the caller's own request passes as it is. */
export function toRpcError(thrown: unknown, modern: boolean): RpcErrorObject {
  if (thrown instanceof RpcRefusal) return thrown.error;
  const error = isPortolanError(thrown) ? thrown : toPortolanError(thrown);
  const { rpcCode, rpcData } = error.data;
  if (typeof rpcCode === "number" && !HOP_CODES.has(rpcCode)) {
    const code =
      modern && rpcCode === LEGACY_RESOURCE_NOT_FOUND ? RPC.INVALID_PARAMS : rpcCode || RPC.INTERNAL;
    return { code, message: error.message, ...(rpcData === undefined ? {} : { data: rpcData }) };
  }
  const isLegacyCode = !modern && error.code === "RESOURCE_NOT_FOUND";
  const code = isLegacyCode ? LEGACY_RESOURCE_NOT_FOUND : ERROR_CODES[error.code].jsonrpc;
  return { code, message: error.message, data: faceOf(error) };
}

function faceOf(error: PortolanError): JsonObject {
  return {
    code: error.code,
    hint: error.hint,
    ...(error.server === undefined ? {} : { server: error.server }),
    ...(error.tool === undefined ? {} : { tool: error.tool }),
    ...(error.code === "RESOURCE_NOT_FOUND" && error.data.uri !== undefined ? { uri: error.data.uri } : {}),
    ...(error.code === "CAPABILITY_MISSING" && error.data.requiredCapabilities !== undefined
      ? { requiredCapabilities: error.data.requiredCapabilities }
      : {}),
  };
}

/** The HTTP status that goes with an error of a modern request. */
export function statusOf({ code }: RpcErrorObject): number {
  if (code === RPC.METHOD_NOT_FOUND) return 404;
  if (code === RPC.HEADER_MISMATCH || code === RPC.MISSING_CAPABILITY || code === RPC.UNSUPPORTED_VERSION)
    return 400;
  return 200;
}
