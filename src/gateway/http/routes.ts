// The addresses of the gateway. None of them can add a server or a command.

import type { Scope } from "../common/view.ts";

export type Route =
  | { readonly kind: "mcp" | "sse" | "messages"; readonly scope: Scope }
  | { readonly kind: "health" | "ready" }
  | { readonly kind: "metadata"; readonly path: string };

const ALL: Scope = { kind: "all" };
const MCP: Route = { kind: "mcp", scope: ALL };
const METADATA = "/.well-known/oauth-protected-resource";
const PART = /^\/(servers|tags)\/([^/]+)\/(mcp|sse|messages)$/;

export function findRoute(url: string): Route | undefined {
  if (url === "/mcp") return MCP;
  // A client that takes this for a proxy sends the whole URL.
  if (!url.startsWith("/")) return URL.canParse(url) ? findRoute(new URL(url).pathname) : undefined;
  const query = url.indexOf("?");
  const path = query === -1 ? url : url.slice(0, query);
  switch (path) {
    case "/mcp":
      return MCP;
    case "/sse":
    case "/messages":
      return { kind: path === "/sse" ? "sse" : "messages", scope: ALL };
    case "/healthz":
      return { kind: "health" };
    case "/readyz":
      return { kind: "ready" };
  }
  if (path === METADATA || path.startsWith(`${METADATA}/`)) return { kind: "metadata", path };
  const [, group, encoded = "", kind] = PART.exec(path) ?? [];
  if (kind === undefined) return undefined;
  const name = decoded(encoded);
  if (name === undefined) return undefined;
  const scope: Scope = group === "servers" ? { kind: "server", alias: name } : { kind: "tag", tag: name };
  return { kind: kind as "mcp" | "sse" | "messages", scope };
}

/** The path under which a scope is reached. */
export function basePath(scope: Scope): string {
  if (scope.kind === "all") return "";
  return scope.kind === "server"
    ? `/servers/${encodeURIComponent(scope.alias)}`
    : `/tags/${encodeURIComponent(scope.tag)}`;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
