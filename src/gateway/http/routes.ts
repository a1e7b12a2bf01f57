// Routes of the gateway. No route can add a server or a command.

import type { Scope } from "../common/view.ts";

export type Route =
  | { readonly kind: "mcp" | "sse" | "messages"; readonly scope: Scope }
  | { readonly kind: "health" | "ready" | "metrics" }
  /** A page of a login at a server; `name` is its secret name, or `callback`. */
  | { readonly kind: "login"; readonly name: string }
  | { readonly kind: "metadata"; readonly path: string };

const ALL: Scope = { kind: "all" };
const MCP: Route = { kind: "mcp", scope: ALL };
/** RFC 9728 puts this path at the root of the host, before the path of the resource. */
const METADATA = "/.well-known/oauth-protected-resource";
const LOGIN = /^\/login\/([\w-]{1,100})$/;
const SCOPED = /^\/(servers|tags)\/([^/]+)\/(mcp|sse|messages)$/;

/** Returns the function that finds the route of a URL. `path` is the path before all routes, such as `/tools`, or empty. */
export function createRouter(path: string): (url: string) => Route | undefined {
  const mcp = `${path}/mcp`;
  const findRoute = (url: string): Route | undefined => {
    if (url === mcp) return MCP;
    // A client that uses the gateway as a proxy sends the absolute URL.
    if (!url.startsWith("/")) return URL.canParse(url) ? findRoute(new URL(url).pathname) : undefined;
    const query = url.indexOf("?");
    const whole = query === -1 ? url : url.slice(0, query);
    if (whole === METADATA || whole.startsWith(`${METADATA}/`)) return { kind: "metadata", path: whole };
    return whole.startsWith(`${path}/`) ? findOwnRoute(whole.slice(path.length)) : undefined;
  };
  return findRoute;
}

function findOwnRoute(path: string): Route | undefined {
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
    case "/metrics":
      return { kind: "metrics" };
  }
  const [, login] = LOGIN.exec(path) ?? [];
  if (login !== undefined) return { kind: "login", name: login };
  const [, group, encoded = "", kind] = SCOPED.exec(path) ?? [];
  if (kind === undefined) return undefined;
  const name = decoded(encoded);
  if (name === undefined) return undefined;
  const scope: Scope = group === "servers" ? { kind: "server", alias: name } : { kind: "tag", tag: name };
  return { kind: kind as "mcp" | "sse" | "messages", scope };
}

/** The path of a scope. */
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
