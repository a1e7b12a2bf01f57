// Sign-in at a known issuer: a person proves who they are. The tokens are used once and not kept.

import { parseUrl } from "../base/net/urls.ts";
import { configuredClient, type OAuthClient, registerClient } from "./client/oauth-client.ts";
import { readAuthorizationServer } from "./discovery/authorization-server.ts";
import { requestByCode } from "./grants/authorization-code.ts";
import { GrantRefused } from "./grants/token-endpoint.ts";
import { createOAuthHttp, OAuthHttpError } from "./http.ts";
import type { OpenLoginPage } from "./login/login-page.ts";
import { authFailed, authUnavailable } from "./problems.ts";
import type { OnSecrets } from "./request-auth.ts";

export interface SignInOptions {
  /** The name of the server in messages. */
  readonly name: string;
  readonly issuer: string;
  /** The resource that the token is for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** A client of the issuer. Without one it is registered. */
  readonly client: { readonly clientId?: string; readonly clientSecret?: string };
  readonly openLoginPage: OpenLoginPage;
  readonly onSecrets?: OnSecrets;
}

/** Clients that were registered, by issuer and redirect address. */
export type RegisteredClients = Map<string, OAuthClient>;

/** Resolves to an access token of the person. */
export async function signIn(options: SignInOptions, registered: RegisteredClients): Promise<string> {
  const { name: server, issuer, resource, scopes, client: settings, openLoginPage, onSecrets } = options;
  const url = parseUrl(issuer);
  if (url === undefined)
    throw authFailed(server, `the issuer ${issuer} is not a URL`, "Correct gateway.oauth.issuer.");
  const http = createOAuthHttp(url);
  const page = await openLoginPage({ server, redirectUri: undefined });
  try {
    const authorizationServer = await readAuthorizationServer(server, url, http);
    if (authorizationServer === undefined)
      throw authFailed(server, `the issuer ${issuer} has no OAuth metadata`, "Correct gateway.oauth.issuer.");
    const clientOptions = { server, settings, authorizationServer, http };
    const key = JSON.stringify([issuer, page.redirectUri]);
    const client =
      configuredClient(clientOptions) ??
      registered.get(key) ??
      (await registerClient(clientOptions, { redirectUri: page.redirectUri }));
    registered.set(key, client);
    const { accessToken } = await requestByCode(
      { server, authorizationServer, client, http },
      {
        ...{ redirectUri: page.redirectUri, resource, onSecrets },
        scope: scopes.length === 0 ? undefined : scopes.join(" "),
        show: (address, state) => page.show(address, state),
      },
    );
    // The token is used at once and not kept, so that it counts as replaced.
    const owner = `sign-in ${page.redirectUri}`;
    onSecrets?.(owner, [accessToken]);
    onSecrets?.(owner, []);
    return accessToken;
  } catch (error) {
    if (error instanceof GrantRefused)
      throw authFailed(
        server,
        `${issuer} refused to issue a token: ${error.message}`,
        "Sign in again.",
        error,
      );
    if (error instanceof OAuthHttpError)
      throw authUnavailable(
        server,
        `${issuer} cannot be used: ${error.message}`,
        error.isTemporary
          ? "Try again later."
          : "Check gateway.oauth.issuer, or report this to the operator of the authorization server.",
        error,
      );
    throw error;
  } finally {
    await page.close();
  }
}
