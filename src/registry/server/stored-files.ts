// Files of the registry that never change: the documents of versions, and the files of packages.

import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseFileName } from "../store/layout.ts";
import { sizeOf } from "../store/upload.ts";
import { sendEmpty } from "./reply.ts";
import { refused, type RouteContext } from "./requests.ts";

const FOREVER = "public, max-age=31536000, immutable";

/** Their name is their ETag. */
export async function sendStored(
  { store, isPrivate }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  folder: "versions" | "files",
  name: string,
): Promise<void> {
  const cache = isPrivate ? FOREVER.replace("public", "private") : FOREVER;
  const hash = parseFileName(folder === "versions" ? name.replace(/\.json$/, "") : name);
  const file = join(store.layout[folder], name);
  const size = hash === undefined ? undefined : await sizeOf(file);
  if (hash === undefined || size === undefined) throw refused(404, `There is no file ${name.slice(0, 100)}.`);
  if (request.headers["if-none-match"] === `"${name}"`)
    return sendEmpty(response, 304, { etag: `"${name}"`, "cache-control": cache });
  response.writeHead(200, {
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
    "content-type": folder === "versions" ? "application/json; charset=utf-8" : "application/octet-stream",
    "content-length": String(size),
    "content-disposition": folder === "files" ? "attachment" : "inline",
    "cache-control": cache,
    etag: `"${name}"`,
  });
  if (request.method === "HEAD") return void response.end();
  await pipeline(createReadStream(file), response);
}
