// Requests to token endpoints, on oauth4webapi.

import type { TokenEndpointResponse } from "oauth4webapi";
import { isObject } from "../../model/index.ts";
import {
  clientAuthentication,
  GrantRefused,
  standardAnswer,
  type TokenEndpoint,
  toTokenError,
} from "./token-endpoint.ts";

export interface Tokens {
  readonly accessToken: string;
  readonly tokenType: string;
  readonly refreshToken?: string;
  /** Milliseconds since 1970, by the clock of this machine. */
  readonly expiresAt?: number;
  readonly obtainedAt: number;
  readonly scope?: string;
  /** Name of the user, if an ID token says it. */
  readonly user?: string;
}

const MAX_TOKEN_CHARACTERS = 64 * 1024;

/** Throws a GrantRefused, AUTH_UNAVAILABLE or AUTH_FAILED. */
export async function requestTokens(
  endpoint: TokenEndpoint,
  grantType: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<Tokens> {
  try {
    return await requestOnce(endpoint, grantType, parameters);
  } catch (error) {
    // The authorization server wants a nonce in the proof, and the prover has it now. The client authenticates anew.
    const wantsNonce = error instanceof GrantRefused && error.error === "use_dpop_nonce";
    if (!wantsNonce || endpoint.dpop === undefined) throw error;
    return await requestOnce(endpoint, grantType, parameters);
  }
}

async function requestOnce(
  endpoint: TokenEndpoint,
  grantType: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<Tokens> {
  const { server, authorizationServer, client, http, dpop } = endpoint;
  const oauth = await import("oauth4webapi");
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  let user: string | undefined;
  const fetchTokens: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const headers = new Headers(init?.headers);
    if (dpop !== undefined) headers.set("dpop", dpop.prove({ method: "POST", url }));
    const response = await http.fetch(input, { ...init, headers });
    const nonce = response.headers.get("dpop-nonce");
    if (nonce !== null) dpop?.useNonce(url, nonce);
    // The ID token is only read for the name of the user, so that a mistake in it does not prevent the login.
    const json = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (!isObject(json)) return response;
    const { id_token: idToken, ...rest } = json;
    user = userIn(idToken);
    const answer = standardAnswer(response.status, rest);
    return new Response(JSON.stringify(answer.json), { status: answer.status, headers: response.headers });
  };
  try {
    const authentication = await clientAuthentication(endpoint);
    const response = await oauth.genericTokenEndpointRequest(
      authorizationServer,
      { client_id: client.clientId },
      authentication,
      grantType,
      given,
      // `http` checks the addresses.
      { [oauth.customFetch]: fetchTokens, [oauth.allowInsecureRequests]: true },
    );
    const received = await oauth.processGenericTokenEndpointResponse(
      authorizationServer,
      { client_id: client.clientId },
      response,
      // The type of an ID-JAG, which is no access token.
      { recognizedTokenTypes: { n_a: () => {} } },
    );
    return toTokens(received, user);
  } catch (error) {
    throw toTokenError(server, authorizationServer, error, oauth.ResponseBodyError);
  }
}

/** Ends the login at the authorization server, where it supports that (RFC 7009). */
export async function revoke(endpoint: TokenEndpoint, tokens: Tokens): Promise<void> {
  const { authorizationServer, client, http } = endpoint;
  if (authorizationServer.revocation_endpoint === undefined) return;
  const oauth = await import("oauth4webapi");
  const authentication = await clientAuthentication(endpoint);
  await oauth.revocationRequest(
    authorizationServer,
    { client_id: client.clientId },
    authentication,
    tokens.refreshToken ?? tokens.accessToken,
    { [oauth.customFetch]: http.fetch, [oauth.allowInsecureRequests]: true },
  );
}

function toTokens(received: TokenEndpointResponse, user: string | undefined): Tokens {
  const { access_token: accessToken, token_type: tokenType, refresh_token: refreshToken, scope } = received;
  if (accessToken.length > MAX_TOKEN_CHARACTERS) throw new Error("the token is too long");
  const obtainedAt = Date.now();
  const expiresIn = received.expires_in;
  return {
    ...{ accessToken, tokenType, refreshToken, obtainedAt, scope, user },
    expiresAt: expiresIn === undefined ? undefined : obtainedAt + expiresIn * 1_000,
  };
}

function userIn(idToken: unknown): string | undefined {
  if (typeof idToken !== "string" || idToken.length > MAX_TOKEN_CHARACTERS) return undefined;
  try {
    const text = Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString("utf8");
    const claims = JSON.parse(text) as Record<string, unknown>;
    const names = [claims.email, claims.preferred_username, claims.sub];
    return names.find((one) => typeof one === "string")?.slice(0, 200);
  } catch {
    return undefined;
  }
}
