// Credentials of one caller of a gateway at one server, exchanged from the caller's own token. They stay in memory, and end with it.

import type { TokenExchange } from "../model/index.ts";
import { withoutCredentials } from "./discovery/protected-resource.ts";
import { exchangeToken } from "./grants/token-exchange.ts";
import { GrantRefused } from "./grants/token-endpoint.ts";
import type { Tokens } from "./grants/token-request.ts";
import { createOAuthHttp, type OAuthHttp } from "./http.ts";
import { authFailed } from "./problems.ts";
import type { AuthHeaders, OnSecrets, Refusal, RequestAuth } from "./request-auth.ts";

export interface ExchangedLoginOptions {
  /** Name of the server in messages. */
  readonly server: string;
  readonly url: string;
  readonly exchange: TokenExchange;
  /** The token that the caller sent last; undefined if it has none that could be exchanged. */
  readonly subjectToken: () => string | undefined;
  readonly onSecrets?: OnSecrets;
}

/** A token is exchanged again this long before it expires. */
const EARLY_MS = 30_000;
/** How long a token without an expiry time is used. */
const DEFAULT_LIFE_MS = 5 * 60_000;

export class ExchangedLogin implements RequestAuth {
  readonly #options: ExchangedLoginOptions;
  readonly #http: OAuthHttp;
  #headers: AuthHeaders | undefined;
  #usableUntil = 0;
  #exchanging: Promise<void> | undefined;
  readonly #owner = `exchange ${globalThis.crypto.randomUUID()}`;

  constructor(options: ExchangedLoginOptions) {
    this.#options = options;
    this.#http = createOAuthHttp(new URL(options.exchange.tokenEndpoint));
  }

  headers(): AuthHeaders | undefined | Promise<AuthHeaders | undefined> {
    if (Date.now() < this.#usableUntil) return this.#headers;
    return this.#renewed();
  }

  async refused({ status, sent, attempt }: Refusal): Promise<boolean> {
    if (status === 403) return false;
    const { server } = this.#options;
    if (attempt > 0)
      throw authFailed(
        server,
        `${server} refuses the exchanged token, with HTTP 401`,
        "Check audience and scopes under auth.exchange in the config of the server.",
      );
    if (this.#headers === sent) this.#usableUntil = 0;
    return true;
  }

  async #renewed(): Promise<AuthHeaders | undefined> {
    // Concurrent requests share one exchange.
    this.#exchanging ??= this.#exchange().finally(() => {
      this.#exchanging = undefined;
    });
    await this.#exchanging;
    return this.#headers;
  }

  async #exchange(): Promise<void> {
    const { server, url, exchange, subjectToken, onSecrets } = this.#options;
    const subject = subjectToken();
    if (subject === undefined)
      throw authFailed(
        server,
        `${server} needs the OAuth token of the caller, and this caller has none`,
        "Sign in to the gateway with OAuth; a fixed token of a caller cannot be exchanged.",
      );
    let tokens: Tokens;
    try {
      const resource = withoutCredentials(new URL(url));
      tokens = await exchangeToken({ server, exchange, resource, subjectToken: subject, http: this.#http });
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error;
      const { origin } = new URL(exchange.tokenEndpoint);
      throw authFailed(
        server,
        `${origin} does not exchange the token of the caller for ${server}: ${error.message}`,
        "Sign in to the gateway again. If that does not help, the operator must check auth.exchange in the config of the server.",
        error,
      );
    }
    onSecrets?.(this.#owner, [tokens.accessToken]);
    this.#headers = { authorization: `Bearer ${tokens.accessToken}` };
    const { obtainedAt, expiresAt = obtainedAt + DEFAULT_LIFE_MS } = tokens;
    // A short life must not mean an exchange for every request.
    this.#usableUntil = expiresAt - Math.min(EARLY_MS, (expiresAt - obtainedAt) / 10);
  }
}
