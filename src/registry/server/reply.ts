// Answers of the registry: JSON with ETags, errors in one form for our clients and for those of the official API.

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERROR_CODES, type PortolanError } from "../../errors/index.ts";

/** Web pages and IDEs read the registry without credentials. Writing needs a token, which no browser adds by itself. */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, OPTIONS",
  "access-control-allow-headers": "Authorization, Content-Type",
  "access-control-expose-headers": "ETag",
} as const;

const COMMON = { "x-content-type-options": "nosniff", ...CORS } as const;

export interface Reply {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cache?: string;
}

export function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  etag: string,
  { status = 200, type = "application/json; charset=utf-8", headers = {}, cache = "no-cache" }: Reply = {},
): void {
  const isSame = status === 200 && matches(request.headers["if-none-match"], etag);
  response.writeHead(isSame ? 304 : status, {
    ...COMMON,
    ...headers,
    etag: `"${etag}"`,
    "cache-control": cache,
    ...(isSame ? {} : { "content-type": type, "content-length": String(bytes.length) }),
  });
  response.end(isSame || request.method === "HEAD" ? undefined : bytes);
}

export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  value: unknown,
  reply: Reply = {},
): void {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  sendBytes(request, response, bytes, createHash("sha256").update(bytes).digest("hex").slice(0, 32), reply);
}

export function sendEmpty(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...COMMON, ...headers }).end();
}

export function statusOf({ code, data }: PortolanError): number {
  const status = data["status"];
  return typeof status === "number" ? status : (ERROR_CODES[code]?.http ?? 500);
}

/** Our clients read `code`, `hint` and `data`; clients of the official API read `error`, or `title` and `detail`. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: PortolanError,
  isOfficial: boolean,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = statusOf(error);
  const { status: _status, ...data } = error.data;
  const shown = status >= 500 && error.code === "INTERNAL" ? "The registry failed." : error.message;
  const value = isOfficial
    ? { title: titleOf(status), status, detail: shown, error: shown }
    : {
        error: {
          code: error.code,
          message: shown,
          hint: error.hint,
          ...(Object.keys(data).length > 0 ? { data } : {}),
        },
      };
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  response.writeHead(status, {
    ...COMMON,
    "content-type": isOfficial ? "application/problem+json" : "application/json; charset=utf-8",
    "content-length": String(bytes.length),
    "cache-control": "no-store",
    ...(status === 401 ? { "www-authenticate": 'Bearer realm="registry"' } : {}),
    ...(status === 429 ? { "retry-after": String(Number(error.data["retryAfter"] ?? 1)) } : {}),
    // The rest of a request body that nobody reads must not become the next request.
    ...(request.complete ? {} : { connection: "close" }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

function titleOf(status: number): string {
  const titles: Readonly<Record<number, string>> = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    501: "Not Implemented",
  };
  return titles[status] ?? (status < 500 ? "Request Refused" : "Internal Server Error");
}

function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", `"${etag}"`].includes(one.trim().replace(/^W\//, "")));
}
