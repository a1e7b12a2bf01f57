// RequestAuth: adds credentials to the HTTP requests of one server, and reacts when the server refuses them.

export interface Refusal {
  readonly status: 401 | 403;
  /** The WWW-Authenticate headers of the response. */
  readonly challenge: string | undefined;
  /** The DPoP-Nonce header of the response. */
  readonly nonce?: string;
  /** The headers that `headers()` gave for the refused request. */
  readonly sent: AuthHeaders | undefined;
  /** How often this request was refused before. */
  readonly attempt: number;
}

export type AuthHeaders = Readonly<Record<string, string>>;

/** The request that gets the headers; a token that is bound to a key needs a proof for it. */
export interface AuthorizedRequest {
  readonly method: string;
  readonly url: URL;
}

export interface RequestAuth {
  /** The headers of the next request. Synchronous while the token is valid, because it runs for every request. */
  headers(request: AuthorizedRequest): AuthHeaders | undefined | Promise<AuthHeaders | undefined>;
  /**
   * Obtains other credentials. Resolves to true if the request should be sent again, to false if the refusal has nothing to do with
   * credentials. Throws AUTH_REQUIRED if a person must log in, AUTH_UNAVAILABLE if the authorization server does not work.
   */
  refused(refusal: Refusal): Promise<boolean>;
  /** The login of a person that is under way. The time limits of requests do not run until it settles. */
  waitingForPerson?(): Promise<unknown> | undefined;
}

/** Receives the secrets of an owner, such as the tokens of a login, so that messages do not show them. They replace its earlier ones. */
export type OnSecrets = (owner: string, values: readonly string[]) => void;
