// How Portolan logs in to a server behind HTTP: OAuth settings of one server, as its config names them.

/** A private key that authenticates the client instead of a secret. */
export interface ClientKey {
  /** PKCS #8 in PEM. */
  readonly pem: string;
  /** JWS algorithm. Default: ES256. */
  readonly algorithm?: string;
}

/** The identity provider of an organisation, which vouches for a user (ID-JAG). */
export interface IdentityProvider {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** The ID token of the user. */
  readonly idToken: string;
}

/** Where the token of a caller of the gateway is exchanged for one of the server (RFC 8693). */
export interface TokenExchange {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Name of the server at the token endpoint. Default: its address, as `resource`. */
  readonly audience?: string;
  readonly scopes?: readonly string[];
}

/** How the first token is obtained. Later ones come from the refresh token, if there is one. */
export type OAuthGrant =
  /** A person logs in with a browser. */
  | { readonly type: "authorization-code" }
  /** The client acts for itself. */
  | { readonly type: "client-credentials" }
  /** The identity provider of an organisation vouches for the user. */
  | { readonly type: "enterprise"; readonly provider: IdentityProvider }
  /** A platform vouches for this program with a JWT. */
  | { readonly type: "jwt-bearer"; readonly assertion: string };

export interface OAuthSettings {
  /** Default: a person logs in. */
  readonly grant?: OAuthGrant;
  /** A client that is registered at the authorization server. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly clientKey?: ClientKey;
  /** Address of a client ID metadata document that describes this client. */
  readonly clientMetadataUrl?: string;
  /** The issuer that is used if the server names several. */
  readonly issuer?: string;
  /** Scopes that are requested instead of those that the server names. */
  readonly scopes?: readonly string[];
  /** One of several accounts at the same server. */
  readonly account?: string;
  /** The redirect address of a registered client, which must be on this machine. Default: a free port. */
  readonly redirectUri?: string;
  /** Each caller of a gateway has a login of its own. */
  readonly perCaller?: boolean;
  /** The token of the caller of a gateway is exchanged, in place of a login. */
  readonly exchange?: TokenExchange;
}
