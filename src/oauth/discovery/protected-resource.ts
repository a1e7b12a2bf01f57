// Protected resource metadata (RFC 9728): which authorization servers and scopes a server has.

import { parseUrl } from "../../base/net/urls.ts";
import { isObject } from "../../model/index.ts";
import type { OAuthHttp } from "../http.ts";
import { authFailed, authUnavailable } from "../problems.ts";

export interface ProtectedResource {
  /** The identifier of the resource, for the `resource` parameter. */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  /** The server accepts only tokens that are bound to a key (RFC 9449). */
  readonly requiresDpop: boolean;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Undefined if the server has no such metadata, as servers of 2025-03-26. */
export async function readProtectedResource(
  server: { readonly name: string; readonly url: URL },
  http: OAuthHttp,
  named: string | undefined,
): Promise<ProtectedResource | undefined> {
  for (const location of locations(server.url, named)) {
    const { status, json } = await http.get(location);
    if (status !== 200) {
      // A server that cannot answer now must not be taken for one without metadata.
      if (status >= 500)
        throw authUnavailable(
          server.name,
          `${location.origin} answered HTTP ${status} for its authorization metadata`,
          "Try again later, or report this to the operator of the server.",
        );
      continue;
    }
    if (isObject(json)) return toResource(server, json, location);
  }
  return undefined;
}

/** The address that the challenge names, else the well-known ones: for the path first, then for the whole host. */
function locations(url: URL, named: string | undefined): URL[] {
  const given = named === undefined ? undefined : parseUrl(named, url);
  if (given !== undefined) return [given];
  const path = url.pathname.replace(/\/$/, "");
  const root = new URL(WELL_KNOWN, url);
  return path === "" ? [root] : [new URL(`${WELL_KNOWN}${path}${url.search}`, url), root];
}

function toResource(
  { name, url }: { readonly name: string; readonly url: URL },
  json: Record<string, unknown>,
  from: URL,
): ProtectedResource {
  const { resource, authorization_servers: servers, scopes_supported: scopes } = json;
  if (typeof resource !== "string" || !covers(resource, url))
    throw authFailed(
      name,
      `the OAuth metadata at ${from.href} describes ${typeof resource === "string" ? resource : "no resource"}, not ${withoutCredentials(url)}`,
      "A token for another resource must not be sent to this server. Check the URL of the server, or report the wrong metadata to the operator of the server.",
    );
  const requiresDpop = json.dpop_bound_access_tokens_required === true;
  return { resource, authorizationServers: textsIn(servers) ?? [], scopes: textsIn(scopes), requiresDpop };
}

/** The resource is the address of the server, or a folder above it on the same host. */
function covers(resource: string, url: URL): boolean {
  const parsed = parseUrl(resource);
  if (parsed?.origin !== url.origin) return false;
  const folder = parsed.pathname.endsWith("/") ? parsed.pathname : `${parsed.pathname}/`;
  const path = url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`;
  return path.startsWith(folder);
}

/** The identifier of a server without metadata. */
export function withoutCredentials(url: URL): string {
  const plain = new URL(url);
  plain.username = "";
  plain.password = "";
  plain.hash = "";
  return plain.href;
}

function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
}
