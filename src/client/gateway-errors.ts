// Errors of a Portolan gateway: the code, hint and server that it sends in the data of a JSON-RPC error.

import { ERROR_CODES, type ErrorCode, isPortolanError, PortolanError } from "../errors/index.ts";
import { isObject } from "../model/index.ts";

/**
 * The error with the code of the gateway. Only the outermost layer may use it: to restarts, repeats and health checks of this
 * program, the error stays an answer of the remote server. `keepsServer`: it does not get the name that the gateway has for its
 * server.
 */
export function fromGateway(thrown: unknown, { keepsServer = false } = {}): unknown {
  if (!isPortolanError(thrown) || thrown.code !== "RPC_ERROR") return thrown;
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

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CODES, value);
}
