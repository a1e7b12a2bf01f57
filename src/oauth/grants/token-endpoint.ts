// Token endpoints of authorization servers: how the client proves who it is there, and what their errors mean.

import type { AuthorizationServer, ClientAuth } from "oauth4webapi";
import type { ClientKey } from "../../model/index.ts";
import type { OAuthClient } from "../client/oauth-client.ts";
import type { DpopProver } from "../dpop/dpop-key.ts";
import { type OAuthHttp, OAuthHttpError } from "../http.ts";
import { authFailed, authUnavailable } from "../problems.ts";

/** The authorization server refused the grant. */
export class GrantRefused extends Error {
  /** Error code of OAuth, such as `invalid_grant`. */
  readonly error: string;

  constructor(error: string, message: string, cause: unknown) {
    super(message, { cause });
    this.error = error;
  }
}

export interface TokenEndpoint {
  readonly server: string;
  readonly authorizationServer: AuthorizationServer;
  readonly client: OAuthClient;
  readonly clientKey?: ClientKey;
  readonly http: OAuthHttp;
  /** Binds the tokens to this key. */
  readonly dpop?: DpopProver;
}

export function toTokenError(
  server: string,
  { issuer }: AuthorizationServer,
  error: unknown,
  ResponseBodyError: typeof import("oauth4webapi").ResponseBodyError,
): Error {
  if (error instanceof ResponseBodyError) {
    const said = (error.error_description ?? error.error).slice(0, 300);
    const isTemporary = isTemporaryStatus(error.status) || error.error === "temporarily_unavailable";
    return isTemporary ? unavailable(said) : new GrantRefused(error.error, said, error);
  }
  if (error instanceof OAuthHttpError)
    return error.isTemporary
      ? unavailable(error.message)
      : authFailed(server, error.message, error.hint ?? HINT, error);
  const { message, cause } = error as Error & { cause?: unknown };
  if (cause instanceof Response && isTemporaryStatus(cause.status))
    return unavailable(`HTTP ${cause.status}`);
  return authFailed(
    server,
    `the response of ${issuer} to the token request is not valid: ${message}`,
    HINT,
    error,
  );

  function unavailable(why: string): Error {
    return authUnavailable(
      server,
      `${issuer} cannot issue a token at the moment: ${why}`,
      "Try again later.",
      error,
    );
  }
}

/** The request may succeed later: too many requests, or an error of the server. */
function isTemporaryStatus(status: number): boolean {
  return status === 429 || status >= 500;
}

/** Error codes that some authorization servers use in place of those of OAuth. */
const OWN_ERRORS: Readonly<Record<string, string>> = {
  bad_refresh_token: "invalid_grant",
  bad_verification_code: "invalid_grant",
  incorrect_client_credentials: "invalid_client",
};

/** The answer as OAuth defines it: some authorization servers refuse with status 200, and with error codes of their own. */
export function standardAnswer(
  status: number,
  json: Readonly<Record<string, unknown>>,
): { readonly status: number; readonly json: Readonly<Record<string, unknown>> } {
  const { error } = json;
  if (typeof error !== "string") return { status, json };
  return { status: status === 200 ? 400 : status, json: { ...json, error: OWN_ERRORS[error] ?? error } };
}

const HINT = "Report this to the operator of the authorization server.";

export async function clientAuthentication({
  server,
  client,
  clientKey,
}: TokenEndpoint): Promise<ClientAuth> {
  const oauth = await import("oauth4webapi");
  const { clientSecret = "", authMethod } = client;
  switch (authMethod) {
    case "none":
      return oauth.None();
    case "client_secret_basic":
      return basic(clientSecret);
    case "client_secret_post":
      return oauth.ClientSecretPost(clientSecret);
    case "private_key_jwt": {
      const { importPKCS8 } = await import("jose");
      const { pem = "", algorithm = "ES256" } = clientKey ?? {};
      try {
        return oauth.PrivateKeyJwt(await importPKCS8(pem, algorithm));
      } catch (cause) {
        const hint =
          "private_key under auth must be a PKCS #8 key in PEM format, and must fit the setting algorithm.";
        throw authFailed(server, "the private key of the client cannot be used", hint, cause);
      }
    }
  }
}

/** The library encodes characters such as "-" that need no encoding, and many servers do not decode them. */
function basic(secret: string): ClientAuth {
  const encoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
  return (_server, { client_id: id }, _body, headers) => {
    const pair = `${encoded(id)}:${encoded(secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  };
}
