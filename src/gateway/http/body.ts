// The body of a request, whole, up to a limit.

import type { IncomingMessage } from "node:http";

export type Body = { readonly text: string } | { readonly tooLarge: true };

/** Calls back once: with the text, or when it is too large. A request that breaks off never does. */
export function readBody(request: IncomingMessage, maxBytes: number, done: (body: Body) => void): void {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
    request.resume();
    return done({ tooLarge: true });
  }
  let only: Buffer | undefined;
  let chunks: Buffer[] | undefined;
  let bytes = 0;
  let over = false;
  request.on("data", (chunk: Buffer) => {
    if (over) return;
    bytes += chunk.length;
    if (bytes > maxBytes) {
      over = true;
      chunks = undefined;
      return done({ tooLarge: true });
    }
    if (only === undefined) only = chunk;
    else (chunks ??= [only]).push(chunk);
  });
  request.on("end", () => {
    if (over) return;
    const whole = chunks === undefined ? only : Buffer.concat(chunks, bytes);
    const text = whole === undefined ? "" : whole.toString("utf8");
    // The request is kept for a while by its connection; its bytes need not be.
    only = undefined;
    chunks = undefined;
    done({ text });
  });
}
