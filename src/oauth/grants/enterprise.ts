// Enterprise-managed authorization: the identity provider of an organisation vouches for its user. Its ID-JAG (identity assertion
// authorization grant) is exchanged for an access token of the server.

import type { IdentityProvider } from "../../model/index.ts";
import type { TokenEndpoint } from "./token-endpoint.ts";
import { requestTokens, type Tokens } from "./token-request.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_TYPE = "urn:ietf:params:oauth:token-type:";

export interface EnterpriseRequest {
  readonly provider: IdentityProvider;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
}

export async function requestByEnterprise(
  endpoint: TokenEndpoint,
  { provider, resource, scope }: EnterpriseRequest,
): Promise<Tokens> {
  const { server, http, authorizationServer } = endpoint;
  const { tokenEndpoint, clientId, clientSecret, idToken } = provider;
  const vouched = await requestTokens(
    {
      ...{ server, http },
      authorizationServer: { issuer: new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint },
      client: {
        clientId,
        clientSecret,
        authMethod: clientSecret === undefined ? "none" : "client_secret_basic",
      },
    },
    TOKEN_EXCHANGE,
    {
      requested_token_type: `${TOKEN_TYPE}id-jag`,
      audience: authorizationServer.issuer,
      resource,
      scope,
      subject_token: idToken,
      subject_token_type: `${TOKEN_TYPE}id_token`,
    },
  );
  return await requestByAssertion(endpoint, { assertion: vouched.accessToken, scope, resource: undefined });
}

/** The JWT bearer grant (RFC 7523). */
export async function requestByAssertion(
  endpoint: TokenEndpoint,
  parameters: {
    readonly assertion: string;
    readonly scope: string | undefined;
    readonly resource: string | undefined;
  },
): Promise<Tokens> {
  return await requestTokens(endpoint, JWT_BEARER, parameters);
}
