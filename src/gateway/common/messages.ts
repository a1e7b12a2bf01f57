// JSON-RPC messages to clients: results, errors, notifications and requests, serialised.

import { LONG_CHARS, writeJson } from "../../base/text/write-json.ts";
import { ERROR_CODES, isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import {
  BUILT_IN_CALLERS,
  isObject,
  type JsonObject,
  RPC,
  type RequestId,
  type RpcErrorObject,
} from "../../model/index.ts";
import type { Observation } from "../../telemetry/index.ts";
import type { Reply } from "./types.ts";

export function writeAnswer(
  id: RequestId,
  answer: { result: JsonObject } | { error: RpcErrorObject },
): string {
  try {
    return "result" in answer
      ? writeResult(id, resultText(answer.result))
      : JSON.stringify({ jsonrpc: "2.0", id, ...answer });
  } catch {
    return writeError(id, "error" in answer ? answer.error : UNWRITABLE);
  }
}

/** A result as JSON. */
export function resultText(result: JsonObject): string {
  return hasLongContent(result) ? writeJson(result) : JSON.stringify(result);
}

/** True if a tool returned a long text, an image or audio. */
function hasLongContent({ content }: JsonObject): boolean {
  if (!Array.isArray(content)) return false;
  for (const block of content as readonly unknown[])
    if (isObject(block) && (isLong(block.text) || isLong(block.data))) return true;
  return false;
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length >= LONG_CHARS;
}

/** JSON.parse() accepts deeper nesting than JSON.stringify() can write. */
const UNWRITABLE: RpcErrorObject = {
  code: RPC.INTERNAL,
  message: "The response of the server is nested too deeply to be forwarded",
};

export function writeResult(id: RequestId, text: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === "number" ? id : JSON.stringify(id)},"result":${text}}`;
}

/** The id is null if the request could not be parsed. Data that cannot be serialised is left out. */
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

/** A client request refused with a JSON-RPC error code. */
export class RpcRefusal extends Error {
  readonly error: RpcErrorObject;
  /** The HTTP status, if it differs from the one that the code implies. */
  readonly status: number | undefined;

  constructor(code: number, message: string, options: { data?: unknown; status?: number } = {}) {
    super(message);
    this.error = { code, message, data: options.data };
    this.status = options.status;
  }
}

/** Error codes that concern only the connection between gateway and server. */
const HOP_CODES = new Set<number>([RPC.HEADER_MISMATCH, RPC.UNSUPPORTED_VERSION]);
const LEGACY_RESOURCE_NOT_FOUND = -32002;

/**
 * The JSON-RPC error for a failed request, whose tool it names. An error that the server returned passes unchanged, with the hint of
 * Portolan if there is one. `caller` is the name of the caller.
 */
export function toRpcError(
  thrown: unknown,
  modern: boolean,
  request?: { readonly method: string; readonly params?: JsonObject | undefined },
  caller?: string,
): RpcErrorObject {
  if (thrown instanceof RpcRefusal) return thrown.error;
  const error = isPortolanError(thrown) ? thrown : toPortolanError(thrown);
  const { rpcCode, rpcData } = error.data;
  if (typeof rpcCode === "number" && !HOP_CODES.has(rpcCode)) {
    const code =
      modern && rpcCode === LEGACY_RESOURCE_NOT_FOUND ? RPC.INVALID_PARAMS : rpcCode || RPC.INTERNAL;
    // A hint of Portolan, such as the grant that the server lacks, must reach the client, which shows only the message.
    const hint = hintForCaller(error, caller);
    if (hint === "" || hint === ERROR_CODES[error.code].hint)
      return { code, message: error.message, data: rpcData };
    const data = rpcData === undefined || isObject(rpcData) ? { ...rpcData, hint } : rpcData;
    return { code, message: `${error.message.replace(/\.$/, "")}. ${hint}`, data };
  }
  const isLegacyCode = !modern && error.code === "RESOURCE_NOT_FOUND";
  const code = isLegacyCode ? LEGACY_RESOURCE_NOT_FOUND : ERROR_CODES[error.code].jsonrpc;
  const tool = request?.method === "tools/call" ? request.params?.name : undefined;
  const named = typeof tool === "string" ? error.at({ tool }) : error;
  const data = { ...publicData(named), hint: hintForCaller(error, caller) };
  return { code, message: error.message, data };
}

/** A named caller cannot run the commands of a hint, and must not learn the paths of the operator. */
function hintForCaller({ code, hint }: PortolanError, caller: string | undefined): string {
  if (caller === undefined || BUILT_IN_CALLERS.has(caller) || !/\bportolan [a-z]/.test(hint)) return hint;
  return code === "TOOL_WITHHELD"
    ? "Ask the operator of the gateway to review and approve the tool."
    : "Ask the operator of the gateway for help.";
}

/**
 * The error with the id that the call has in the audit log, the console and the traces, so that an operator finds the call. An error
 * that the server returned passes unchanged.
 */
export function withCallId(
  error: RpcErrorObject,
  thrown: unknown,
  observation: Pick<Observation, "id"> | undefined,
): RpcErrorObject {
  const ofServer = isPortolanError(thrown) && thrown.data.rpcCode !== undefined;
  if (observation === undefined || thrown === undefined || thrown instanceof RpcRefusal || ofServer)
    return error;
  return isObject(error.data) ? { ...error, data: { ...error.data, callId: observation.id } } : error;
}

/** The fields of an error that clients may see. */
function publicData({ code, hint, server, tool, data }: PortolanError): JsonObject {
  return {
    code,
    hint,
    server,
    tool,
    neverRan: data.neverRan === true ? true : undefined,
    retryAfterMs: typeof data.retryAfterMs === "number" ? data.retryAfterMs : undefined,
    uri: code === "RESOURCE_NOT_FOUND" ? data.uri : undefined,
    url: code === "AUTH_REQUIRED" && isObject(data.login) ? data.login.url : undefined,
    requiredCapabilities: code === "CAPABILITY_MISSING" ? data.requiredCapabilities : undefined,
  };
}

/** Ends a modern request with the error that its handling threw. */
export function replyWithError(reply: Reply, id: RequestId, thrown: unknown): void {
  const error = toRpcError(thrown, true);
  reply.observation?.failed(thrown, error.code);
  const status = thrown instanceof RpcRefusal ? thrown.status : undefined;
  reply.end(writeError(id, withCallId(error, thrown, reply.observation)), status ?? statusOf(error));
}

/** The HTTP status for an error of a modern request. */
export function statusOf({ code }: RpcErrorObject): number {
  if (code === RPC.METHOD_NOT_FOUND) return 404;
  if (code === RPC.HEADER_MISMATCH || code === RPC.MISSING_CAPABILITY || code === RPC.UNSUPPORTED_VERSION)
    return 400;
  return 200;
}
