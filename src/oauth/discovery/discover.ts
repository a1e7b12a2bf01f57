// Finds the authorization server of an MCP server, and what to request of it.

import type { AuthorizationServer } from "oauth4webapi";
import { parseUrl } from "../../base/net/urls.ts";
import { DPOP_ALGORITHM } from "../dpop/dpop-key.ts";
import type { OAuthHttp } from "../http.ts";
import { authFailed } from "../problems.ts";
import { defaultAuthorizationServer, readAuthorizationServer } from "./authorization-server.ts";
import type { TokenChallenge } from "./challenge.ts";
import { readProtectedResource, withoutCredentials } from "./protected-resource.ts";

export interface Discovered {
  readonly authorizationServer: AuthorizationServer;
  /** The `resource` parameter; undefined for a server of 2025-03-26, whose authorization server does not know it. */
  readonly resource: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Tokens are bound to a key (RFC 9449). */
  readonly usesDpop: boolean;
}

export async function discover(
  server: { readonly name: string; readonly url: URL; readonly issuer: string | undefined },
  challenge: TokenChallenge,
  http: OAuthHttp,
): Promise<Discovered> {
  const { name, url } = server;
  const described = await readProtectedResource(server, http, challenge.resourceMetadata);
  if (described === undefined) {
    const issuer = new URL(server.issuer ?? url.origin);
    const authorizationServer = await readAuthorizationServer(name, issuer, http);
    return {
      authorizationServer: authorizationServer ?? defaultAuthorizationServer(issuer.origin),
      resource: authorizationServer === undefined ? undefined : withoutCredentials(url),
      scopes: undefined,
      usesDpop: authorizationServer !== undefined && challenge.acceptsDpop && givesDpop(authorizationServer),
    };
  }
  const issuer = chooseIssuer(name, described.authorizationServers, server.issuer);
  const authorizationServer = await readAuthorizationServer(name, issuer, http);
  if (authorizationServer === undefined)
    throw authFailed(
      name,
      `the authorization server ${issuer.href} has no OAuth metadata`,
      "Report this to the operator of the server.",
    );
  const usesDpop = (described.requiresDpop || challenge.acceptsDpop) && givesDpop(authorizationServer);
  return { authorizationServer, resource: described.resource, scopes: described.scopes, usesDpop };
}

function givesDpop({ dpop_signing_alg_values_supported: algorithms }: AuthorizationServer): boolean {
  return algorithms?.includes(DPOP_ALGORITHM) === true;
}

function chooseIssuer(server: string, listed: readonly string[], wanted: string | undefined): URL {
  const chosen = wanted === undefined ? listed[0] : listed.find((one) => sameIssuer(one, wanted));
  const issuer = parseUrl(chosen ?? "");
  if (issuer !== undefined) return issuer;
  throw authFailed(
    server,
    wanted === undefined
      ? `${server} requires a token, but names no authorization server`
      : `${server} does not accept tokens of ${wanted}; it names ${listed.join(", ") || "no authorization server"}`,
    wanted === undefined
      ? `Report this to the operator of the server, or ${TOKEN_HINT}.`
      : `Correct or remove issuer under auth in the config of the server, or ${TOKEN_HINT}.`,
  );
}

const TOKEN_HINT = "write a token under headers in the config of the server";

function sameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}
