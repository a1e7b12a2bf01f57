// The authorization code grant with PKCE: a person logs in with a browser.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { authFailed } from "../problems.ts";
import type { OnSecrets } from "../request-auth.ts";
import { clientAuthentication, type TokenEndpoint, toTokenError } from "./token-endpoint.ts";
import { requestTokens, type Tokens } from "./token-request.ts";

const REPORT = "Report this to the operator of the authorization server.";

export interface CodeRequest {
  readonly redirectUri: string;
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  /** Shows the address to the person. Resolves to the address that the browser was redirected to, which must carry the state. */
  readonly show: (address: URL, state: string) => Promise<URL>;
  readonly onSecrets?: OnSecrets;
}

export async function requestByCode(endpoint: TokenEndpoint, request: CodeRequest): Promise<Tokens> {
  const { server, authorizationServer, client } = endpoint;
  const { redirectUri, scope, resource } = request;
  const { authorization_endpoint: page, code_challenge_methods_supported: methods } = authorizationServer;
  if (page === undefined)
    throw authFailed(
      server,
      `${authorizationServer.issuer} has no login page`,
      "If the server accepts clients without a person, set grant: client_credentials under auth in its config.",
    );
  const address = parseUrl(page);
  // The address is given to a program that opens browsers.
  if (address === undefined || !isHttpUrl(address))
    throw authFailed(server, `the login page ${page.slice(0, 200)} is not an http or https address`, REPORT);
  if (methods?.includes("S256") !== true)
    throw authFailed(
      server,
      `${authorizationServer.issuer} does not support PKCE with S256, so Portolan does not log in: others could steal the login`,
      "Report this to the operator of the authorization server, or write a token under headers in the config of the server.",
    );
  const oauth = await import("oauth4webapi");
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const owner = `login ${state}`;
  request.onSecrets?.(owner, [verifier]);
  const parameters = defined({
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    scope,
    resource,
    // OpenID Connect gives a refresh token only after a question to the user.
    prompt: scope?.split(" ").includes("offline_access") === true ? "consent" : undefined,
  });
  try {
    const isPushed = authorizationServer.require_pushed_authorization_requests === true;
    const visible = isPushed ? await push(endpoint, parameters) : parameters;
    for (const [name, value] of Object.entries(visible)) address.searchParams.set(name, value);
    const answer = await request.show(address, state);
    const code = codeIn(answer);
    request.onSecrets?.(owner, [verifier, code]);
    return await requestTokens(endpoint, "authorization_code", {
      ...{ code, redirect_uri: redirectUri, code_verifier: verifier, resource },
    });
  } finally {
    request.onSecrets?.(owner, []);
  }

  /** Checks state and issuer (RFC 9207), so that the code of another authorization server or of another login is not used. */
  function codeIn(redirected: URL): string {
    try {
      const checked = oauth.validateAuthResponse(
        authorizationServer,
        { client_id: client.clientId },
        redirected.searchParams,
        state,
      );
      const found = checked.get("code");
      if (found !== null) return found;
      throw new Error("it has no code");
    } catch (cause) {
      const said = cause instanceof oauth.AuthorizationResponseError ? refusal(cause) : undefined;
      throw authFailed(
        server,
        said ?? `the answer of the login page is not valid: ${(cause as Error).message}`,
        said === undefined
          ? "Log in again. If the error repeats, stop: another site may be interfering with the login."
          : "Log in again.",
        cause,
      );
    }
  }
}

/** Sends the parameters of the login to the authorization server itself (RFC 9126). The address of the page then only refers to them. */
async function push(
  endpoint: TokenEndpoint,
  parameters: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const { server, authorizationServer, client, http } = endpoint;
  const oauth = await import("oauth4webapi");
  try {
    const response = await oauth.pushedAuthorizationRequest(
      authorizationServer,
      { client_id: client.clientId },
      await clientAuthentication(endpoint),
      new URLSearchParams(parameters),
      { [oauth.customFetch]: http.fetch, [oauth.allowInsecureRequests]: true },
    );
    const { request_uri: requestUri } = await oauth.processPushedAuthorizationResponse(
      authorizationServer,
      { client_id: client.clientId },
      response,
    );
    return { client_id: client.clientId, request_uri: requestUri };
  } catch (error) {
    throw toTokenError(server, authorizationServer, error, oauth.ResponseBodyError);
  }
}

function defined(parameters: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

function refusal({ error, error_description: text }: { error: string; error_description?: string }): string {
  if (error === "access_denied") return "the login was denied, by the person or by the authorization server";
  return `the login failed: ${(text ?? error).slice(0, 300)}`;
}
