// Errors that Portolan itself made for a call: a gateway sends their code, hint and server in the data of a JSON-RPC error. A failed
// contract call has them in `_meta` of its result.

import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorPlace,
  isPortolanError,
  PortolanError,
} from "../errors/index.ts";
import { type CallToolResult, isObject } from "../model/index.ts";

/** An answer of a gateway, or the refusal of a whole HTTP request, which has a JSON-RPC error in its body. */
const FROM_GATEWAY: ReadonlySet<ErrorCode> = new Set([
  "RPC_ERROR",
  "AUTH_REQUIRED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "HTTP_ERROR",
]);

/**
 * The error with the code of the gateway. Only the outermost layer may use it: to restarts, repeats and health checks of this
 * program, the error stays an answer of the remote server. `keepsServer`: it does not get the name that the gateway has for its
 * server.
 */
export function fromGateway(thrown: unknown, { keepsServer = false } = {}): unknown {
  if (!isPortolanError(thrown) || !FROM_GATEWAY.has(thrown.code)) return thrown;
  const { rpcData } = thrown.data;
  if (!isObject(rpcData) || !isErrorCode(rpcData.code) || typeof rpcData.hint !== "string") return thrown;
  const { code, hint, server, tool, neverRan, retryAfterMs } = rpcData;
  return new PortolanError(code, thrown.message, {
    server: typeof server === "string" && !keepsServer ? server : thrown.server,
    tool: typeof tool === "string" ? tool : thrown.tool,
    hint,
    data: {
      ...thrown.data,
      ...(neverRan === true ? { neverRan } : {}),
      ...(typeof retryAfterMs === "number" ? { retryAfterMs } : {}),
    },
    cause: thrown,
  });
}

/** The error for an error result: the tool itself failed, unless `_meta` tells why Portolan failed to call it. */
export function fromErrorResult(
  result: CallToolResult,
  text: string,
  place: Pick<ErrorPlace, "server" | "tool">,
): PortolanError {
  const details = isObject(result._meta) ? result._meta["portolan/error"] : undefined;
  if (!isObject(details) || !isErrorCode(details.errorCode))
    return new PortolanError("TOOL_FAILED", text, { ...place, data: { result } });
  const { errorCode, message, hint, stderr, neverRan, retryAfterMs } = details;
  return new PortolanError(errorCode, typeof message === "string" ? message : text, {
    ...place,
    hint: typeof hint === "string" ? hint : undefined,
    stderr: typeof stderr === "string" ? stderr : undefined,
    data: {
      result,
      ...(neverRan === true ? { neverRan } : {}),
      ...(typeof retryAfterMs === "number" ? { retryAfterMs } : {}),
    },
  });
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CODES, value);
}
