// The form of a login page: a small body of form fields.

import type { HttpRequest } from "../http/responses.ts";

const MAX_BYTES = 96 * 1024;
const TIMEOUT_MS = 10_000;

/** Undefined for another kind of body, and for one that is too large or too slow. */
export async function readForm(request: HttpRequest): Promise<URLSearchParams | undefined> {
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("application/x-www-form-urlencoded")) return undefined;
  const late = setTimeout(() => request.destroy(), TIMEOUT_MS).unref();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  } finally {
    clearTimeout(late);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
