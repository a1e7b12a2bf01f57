// HTTP responses: JSON, errors and refusals. A request with an unread body gets its response without reading on, and its connection closes.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { Readable, Writable } from "node:stream";
import { merge } from "../../base/collections/merge.ts";
import { RPC } from "../../model/index.ts";
import type { Refusal } from "../access/types.ts";
import { writeError } from "../common/messages.ts";
import { endOrDrop } from "./event-writer.ts";

/** The part of Node's IncomingMessage that the gateway uses; requests of the fetch handler implement it too. */
export interface HttpRequest extends Readable {
  method?: string;
  url?: string;
  headers: IncomingHttpHeaders;
  /** True when the whole body has arrived. */
  complete: boolean;
  /** The body as a body parser of the program left it. */
  readonly body?: unknown;
  readonly httpVersion?: string;
  readonly socket?: { readonly remoteAddress?: string; readonly remotePort?: number };
}

/** The part of Node's ServerResponse that the gateway uses; responses of the fetch handler implement it too. */
export interface HttpResponse extends Writable {
  readonly req: HttpRequest;
  readonly headersSent: boolean;
  readonly socket: { readonly bytesWritten: number; end(): unknown } | null;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: OutgoingHttpHeaders): Writable;
  writeContinue(): void;
  flushHeaders(): void;
}

type Headers = Readonly<Record<string, string>>;

/** How long a client has to read the response before its connection is cut. */
const CLOSE_MS = 1_000;

/** True if a part of the request's body has not arrived yet. */
export function isUnread({ complete, headers }: HttpRequest): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

export function sendJson(response: HttpResponse, status: number, text: string, headers?: Headers): void {
  if (!isUnread(response.req)) return send(response, status, text, headers);
  // A short body arrives in the same packet as its headers: then it is complete by now, and the connection can stay open.
  setImmediate(() => {
    if (isUnread(response.req)) sendAndClose(response, status, text, headers);
    else send(response, status, text, headers);
  });
}

export function refuse(response: HttpResponse, { status, headers, error }: Refusal): void {
  const { code, message, hint } = error;
  sendError(response, status, code, message, { hint, headers });
}

/** Sends an HTTP error in the form of a JSON-RPC error, so that MCP clients can show it. */
export function sendError(
  response: HttpResponse,
  status: number,
  code: string,
  message: string,
  { hint, headers = {} }: { hint?: string; headers?: Headers } = {},
): void {
  const error = { code: RPC.INVALID_REQUEST, message, data: { code, hint } };
  sendJson(response, status, writeError(null, error), headers);
}

export function sendRpcError(response: HttpResponse, status: number, code: number, message: string): void {
  sendJson(response, status, writeError(null, { code, message }));
}

export function sendInvalidRequest(response: HttpResponse, message: string): void {
  sendRpcError(response, 400, RPC.INVALID_REQUEST, message);
}

function send(response: HttpResponse, status: number, text: string, headers: Headers | undefined): void {
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, headers === undefined ? own : merge(own, headers));
  endOrDrop(response, text);
}

/** Does not use `end()`, after which Node.js would read the rest of the request, however long it is. */
function sendAndClose(
  response: HttpResponse,
  status: number,
  text: string,
  headers: Headers | undefined,
): void {
  if (response.destroyed) return;
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, { ...own, ...headers, connection: "close" });
  response.write(text, () => response.socket?.end());
  // Unread bytes would make the system reset the connection at once, and the client might not see the response.
  const cut = setTimeout(() => response.destroy(), CLOSE_MS).unref();
  response.on("close", () => clearTimeout(cut));
}
