// Converts contracts and their results to MCP tools and tool results.

import {
  type CallToolResult,
  type Contract,
  type DriverError,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../../model/index.ts";
import { typesOf } from "../../schema/index.ts";
import type { Dispatched } from "../dispatch/contract-call.ts";
import { libraryErrorOf } from "../dispatch/failure.ts";
import { DRIVER_META } from "./call-context.ts";
import type { PreparedContract } from "./prepared-contract.ts";

export function toToolDefinition({ contract, outputs }: PreparedContract): ToolDefinition {
  const types = typesOf(outputs);
  return {
    name: contract.id,
    title: contract.name,
    description: contract.description,
    inputSchema: { type: "object", ...contract.inputs },
    // Clients of older revisions accept only object schemas.
    ...(types.size === 1 && types.has("object")
      ? { outputSchema: { type: "object", ...contract.outputs } }
      : {}),
    annotations: annotationsOf(contract),
  };
}

function annotationsOf({ name, mutates, idempotent, requires }: Contract): JsonObject {
  const reachesOut = requires.network.length > 0 || mutates.some((what) => /^(network|external):/.test(what));
  return {
    title: name,
    readOnlyHint: mutates.length === 0,
    destructiveHint: mutates.length === 0 ? false : undefined,
    idempotentHint: idempotent,
    openWorldHint: reachesOut,
  };
}

/** `forClient`: the result goes to a client of the gateway, which must not see the output of servers. */
export function toCallResult(
  { result, driver, neverRan }: Dispatched,
  { forClient }: { readonly forClient: boolean },
): CallToolResult {
  const meta = driver === undefined ? {} : { [DRIVER_META]: driver };
  if (!result.ok) {
    const { code: errorCode, hint, stderr } = libraryErrorOf(result.error, neverRan === true);
    const more = { errorCode, hint, neverRan, stderr: forClient ? undefined : stderr };
    return toErrorResult(result.error, more, meta);
  }
  const { value } = result;
  const text = typeof value === "string" ? value : ((JSON.stringify(value) as string | undefined) ?? "");
  const content = [{ type: "text" as const, text }];
  return isObject(value)
    ? { resultType: "complete", content, structuredContent: value, _meta: meta }
    : { resultType: "complete", content, _meta: meta };
}

function toErrorResult(error: DriverError, more: JsonObject, meta: JsonObject): CallToolResult {
  const { code, message, retryable, retryAfterMs, field, cause } = error;
  const details: JsonObject = {
    code,
    message,
    retryable,
    retryAfterMs,
    field,
    // Only causes that were made for the caller; internal errors are not passed on.
    cause: isPlainCause(cause) ? cause : undefined,
    ...more,
  };
  return {
    resultType: "complete",
    content: [{ type: "text", text: `${code}: ${message}` }],
    isError: true,
    _meta: { ...meta, "portolan/error": details },
  };
}

function isPlainCause(cause: unknown): boolean {
  return (
    typeof cause === "object" &&
    cause !== null &&
    Object.getPrototypeOf(cause) === Object.prototype &&
    !("error" in cause)
  );
}
