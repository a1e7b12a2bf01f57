// Routes of the registry: the index and its files, the package API, and the official API. server.ts checks limits first.

import type { IncomingMessage, ServerResponse } from "node:http";
import { INDEX_PATH } from "../store/layout.ts";
import { getServerVersion, listServers, listServerVersions } from "./official-api.ts";
import { routePackages } from "./package-api.ts";
import { sendBytes, sendEmpty, sendJson } from "./reply.ts";
import { refused, type RouteContext } from "./requests.ts";
import { sendStored } from "./stored-files.ts";

export async function route(
  context: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const parts = url.pathname.split("/").slice(1).map(decode);
  const [first = "", ...rest] = parts;
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
  if (method === "OPTIONS") return sendEmpty(response, 204, { "access-control-max-age": "86400" });
  if (first === "healthz") return sendJson(request, response, { status: "ok" });
  // Without a token, a private registry does not even say which packages there are.
  if (context.isPrivate) await context.authenticate(request);
  if (first === "v0" || first === "v0.1") return routeOfficial(context, request, response, method, rest, url);
  if (first === "api") return routePackages(context, request, response, method, rest, url);
  if (method !== "GET") throw refused(405, "Only GET is supported at this path.");
  if (first === INDEX_PATH && rest.length === 0) {
    const { bytes, sha256 } = await context.store.read();
    return sendBytes(request, response, bytes, sha256, { type: "application/jsonl" });
  }
  if ((first === "versions" || first === "files") && rest.length === 1)
    return sendStored(context, request, response, first, rest[0] ?? "");
  throw refused(404, `There is nothing at ${url.pathname.slice(0, 200)}.`);
}

async function routeOfficial(
  { store }: RouteContext,
  request: IncomingMessage,
  response: ServerResponse,
  method: string,
  parts: readonly string[],
  url: URL,
): Promise<void> {
  if (method !== "GET") throw refused(501, "This API is read-only. Publish with portolan publish.");
  const [kind, ...rest] = parts;
  if (kind === "health" && rest.length === 0) return sendJson(request, response, { status: "ok" });
  if (kind !== "servers") throw refused(404, "Not found");
  if (rest.length === 0) return sendJson(request, response, await listServers(store, url.searchParams));
  // The name has a slash, which some clients encode and others do not.
  const at = rest.indexOf("versions", 1);
  const name = rest.slice(0, at < 0 ? undefined : at).join("/");
  const tail = at < 0 ? [] : rest.slice(at + 1);
  if (at >= 0 && tail.length === 0) return sendJson(request, response, await listServerVersions(store, name));
  if (tail.length > 1) throw refused(404, "Not found");
  return sendJson(request, response, await getServerVersion(store, name, tail[0] ?? "latest"));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refused(400, "The path is not encoded correctly.");
  }
}
