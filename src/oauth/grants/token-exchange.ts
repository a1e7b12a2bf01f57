// Token exchange (RFC 8693): the token of a caller becomes a token of the server, for the same user.

import type { TokenExchange } from "../../model/index.ts";
import type { OAuthHttp } from "../http.ts";
import { requestTokens, type Tokens } from "./token-request.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

export interface ExchangeRequest {
  readonly server: string;
  readonly exchange: TokenExchange;
  /** The address of the server, which the token is for if `audience` does not name it otherwise. */
  readonly resource: string;
  readonly subjectToken: string;
  readonly http: OAuthHttp;
}

/** Throws a GrantRefused, AUTH_UNAVAILABLE or AUTH_FAILED. */
export async function exchangeToken(request: ExchangeRequest): Promise<Tokens> {
  const { server, exchange, resource, subjectToken, http } = request;
  const { tokenEndpoint, clientId, clientSecret, audience, scopes } = exchange;
  return await requestTokens(
    {
      ...{ server, http },
      authorizationServer: { issuer: new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint },
      client: {
        ...{ clientId, clientSecret },
        authMethod: clientSecret === undefined ? "none" : "client_secret_basic",
      },
    },
    TOKEN_EXCHANGE,
    {
      subject_token: subjectToken,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
      audience,
      resource: audience === undefined ? resource : undefined,
      scope: scopes?.join(" "),
    },
  );
}
