// Explains failures caused by the protocol era of the connection: server requests that a modern server cannot send,
// and `input_required` results that a legacy session does not support.

import { changedError, PortolanError } from "../../errors/index.ts";
import { type Era, isObject, type JsonObject, RPC, type ServerDefinition } from "../../model/index.ts";

/** The names that SDKs use for server requests, and the words with which they refuse them. */
const SERVER_REQUEST =
  /elicit|sampling|createMessage|create_message|roots\/list|list_?roots|server-initiated|back-?channel/i;
const REFUSAL = /\bnot?\b|n't\b|cannot|unavailable|unsupported|unable|fail|refuse|removed|without/i;
const LONGEST_REFUSAL = 2_000;

function isRefusal(text: unknown): boolean {
  return (
    typeof text === "string" &&
    text.length <= LONGEST_REFUSAL &&
    SERVER_REQUEST.test(text) &&
    REFUSAL.test(text)
  );
}

function needsLegacy(server: string): string {
  return `Portolan uses MCP 2026-07-28 with ${server}. In this revision, a server cannot send requests to its client. If a tool must send requests, set "era: legacy" in the config of ${server}.`;
}

/** Adds the setting to change to an error that the era of the connection may have caused. */
export function explainEraError(
  error: PortolanError,
  era: Era,
  { name, era: pinned }: ServerDefinition,
): PortolanError {
  const { code, message, data } = error;
  const explained = (note: string): PortolanError =>
    changedError(error, { message: `${message} (${note})`, hint: note });
  if (code !== "RPC_ERROR") return error;
  if (era === "modern") return isRefusal(message) ? explained(needsLegacy(name)) : error;
  if (pinned !== "legacy" || data.rpcCode !== RPC.INTERNAL) return error;
  return explained(
    `The config of ${name} says "era: legacy". If the tool answers with input_required, the tool needs MCP 2026-07-28: set "era: auto" in the config of ${name}.`,
  );
}

/** Adds the same text to a failed tool result, because many servers report such an error as text. */
export function explainEraResult(result: JsonObject, server: string): JsonObject {
  const { content } = result;
  if (!Array.isArray(content) || !content.some((block) => isObject(block) && isRefusal(block.text)))
    return result;
  return { ...result, content: [...content, { type: "text", text: needsLegacy(server) }] };
}

/** The error for a server that answers a legacy request with the modern `input_required` result. */
export function inputRequiredInLegacy(server: string, method: string): PortolanError {
  return new PortolanError(
    "PROTOCOL_ERROR",
    `${server} answered ${method} with input_required, which needs MCP 2026-07-28, but this session uses an older revision`,
    {
      server,
      data: { method, inputRequired: true },
      hint: `Set "era: auto" or "era: modern" in the config of ${server}.`,
    },
  );
}
