// Refusals over HTTP, in the words of JSON-RPC, so that clients can show them.

import type { ServerResponse } from "node:http";
import { RPC } from "../../model/index.ts";
import type { Refusal } from "../access/access-control.ts";
import { writeError } from "../common/messages.ts";
import { sendJson } from "./responses.ts";

export function refuse(response: ServerResponse, { status, headers, error }: Refusal): void {
  sendError(response, status, error, headers);
}

/** An answer that is no answer to a JSON-RPC request; still in its words, so that clients can show it. */
export function sendError(
  response: ServerResponse,
  status: number,
  { code, message, hint }: { code: string; message: string; hint?: string | undefined },
  headers: Readonly<Record<string, string>> = {},
): void {
  const data = { code, ...(hint === undefined ? {} : { hint }) };
  sendJson(response, status, writeError(null, { code: RPC.INVALID_REQUEST, message, data }), headers);
}

export function sendRpc(response: ServerResponse, status: number, code: number, message: string): void {
  sendJson(response, status, writeError(null, { code, message }));
}
