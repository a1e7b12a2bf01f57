// Responses of the console that are no pages: values and errors as JSON.

import type { HttpResponse } from "../gateway/index.ts";

export function sendValue(response: HttpResponse, value: object): void {
  const text = JSON.stringify(value);
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

export function sendProblem(response: HttpResponse, status: number, code: string, message: string): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify({ error: { code, message } });
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    // The rest of an unread body is not wanted.
    ...(response.req.complete ? {} : { connection: "close" }),
  });
  response.end(text);
}
