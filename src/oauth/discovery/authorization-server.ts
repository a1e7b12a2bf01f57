// Metadata of an authorization server (RFC 8414 and OpenID Connect Discovery).

import type { AuthorizationServer } from "oauth4webapi";
import { isObject } from "../../model/index.ts";
import type { OAuthHttp } from "../http.ts";
import { authFailed, authUnavailable } from "../problems.ts";

const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/** Undefined if the issuer has no metadata. */
export async function readAuthorizationServer(
  server: string,
  issuer: URL,
  http: OAuthHttp,
): Promise<AuthorizationServer | undefined> {
  for (const location of locations(issuer)) {
    const { status, json } = await http.get(location);
    if (status >= 500)
      throw authUnavailable(
        server,
        `${location.origin} answered HTTP ${status} for the metadata of the authorization server`,
        "Try again later, or report this to the operator of the authorization server.",
      );
    if (status === 200 && isObject(json)) return checked(server, issuer, json, location);
  }
  return undefined;
}

function locations(issuer: URL): URL[] {
  const path = issuer.pathname.replace(/\/$/, "");
  const at = (suffix: string): URL => new URL(suffix, issuer);
  if (path === "") return [at(OAUTH), at(OPENID)];
  return [at(OAUTH + path), at(OPENID + path), at(path + OPENID)];
}

function checked(server: string, issuer: URL, json: Record<string, unknown>, from: URL): AuthorizationServer {
  const { issuer: said } = json;
  // A host without a path may be written with or without a slash.
  const expected = issuer.pathname === "/" && said === issuer.origin ? issuer.origin : issuer.href;
  // Otherwise one authorization server could pose as another one, and receive its codes.
  if (typeof said !== "string" || said !== expected)
    throw authFailed(
      server,
      `the metadata at ${from.href} belongs to the issuer ${String(said)}, not to ${issuer.href}`,
      "Report this to the operator of the server: the issuer in this metadata must equal the issuer URL.",
    );
  return json as unknown as AuthorizationServer;
}

/** The endpoints that servers of 2025-03-26 have without any metadata. */
export function defaultAuthorizationServer(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}
