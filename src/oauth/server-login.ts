// The login of one server: its tokens, obtained when the server asks for them, refreshed before they expire.

import { isPortolanError } from "../errors/index.ts";
import type { OAuthSettings } from "../model/index.ts";
import { currentClient, storedClient } from "./client/oauth-client.ts";
import { type TokenChallenge, tokenChallenge } from "./discovery/challenge.ts";
import { discover, type Discovered } from "./discovery/discover.ts";
import { DpopProver } from "./dpop/dpop-key.ts";
import type { ShowDeviceCode } from "./grants/device-code.ts";
import { GrantRefused, type TokenEndpoint } from "./grants/token-endpoint.ts";
import { requestTokens, revoke, type Tokens } from "./grants/token-request.ts";
import { createOAuthHttp, type OAuthHttp, OAuthHttpError } from "./http.ts";
import type { OpenLoginPage } from "./login/login-page.ts";
import { isForPerson, obtainTokens } from "./obtain-tokens.ts";
import { authFailed, authUnavailable, loginNeeded } from "./problems.ts";
import type { AuthHeaders, AuthorizedRequest, OnSecrets, Refusal, RequestAuth } from "./request-auth.ts";
import type { Credential, CredentialKey, CredentialStore } from "./store/credential.ts";

export interface ServerLoginOptions {
  /** Name of the server in messages. */
  readonly server: string;
  readonly url: string;
  readonly settings: OAuthSettings;
  readonly store: CredentialStore;
  /** The user of a gateway. Default: the owner of this machine. */
  readonly user?: string;
  /** Takes a person to the login page. Without it, a server that needs a login fails with AUTH_REQUIRED. */
  readonly openLoginPage?: OpenLoginPage;
  /** Shows a device code, which takes the place of the login page where the authorization server offers it. */
  readonly showDeviceCode?: ShowDeviceCode;
  /** Ends a login that waits for a person. */
  readonly signal?: AbortSignal;
  /** Receives every token, code and client secret. */
  readonly onSecrets?: OnSecrets;
}

export interface LoginRequest {
  /** Scopes that the server demanded for a request, in addition to the usual ones. */
  readonly scope?: string;
  /** The server refused a request without a token, even if it does not refuse every one. */
  readonly isNeeded?: boolean;
}

/** Tokens are refreshed this long before they expire. */
const EARLY_MS = 30_000;
/** The pause after a refresh that failed, which doubles with each one. */
const MIN_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** Attempts of one request: a server that demands new scopes again and again is not followed. */
const MAX_ATTEMPTS = 3;

export class ServerLogin implements RequestAuth {
  readonly #options: ServerLoginOptions;
  readonly #url: URL;
  readonly #key: CredentialKey;
  readonly #http: OAuthHttp;
  #credential: Credential | undefined;
  #headers: AuthHeaders | undefined;
  #prover: DpopProver | undefined;
  #isLoaded = false;
  /** The version of the stored login that is in memory. */
  #version: unknown;
  /** The work that obtains tokens. All requests that need them wait for the same one. */
  #obtaining: Promise<void> | undefined;
  /** The same work, while a person logs in. */
  #person: Promise<unknown> | undefined;
  /** The token that came from a grant and not from a refresh token: if it is refused, logging in again does not help. */
  #granted: string | undefined;
  /** The pause after a refresh that failed, and when it ends. */
  #pauseMs = 0;
  #retryAt = 0;

  constructor(options: ServerLoginOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    const { settings, user = "", signal } = options;
    const { issuer, grant } = settings;
    const named = [issuer, grant?.type === "enterprise" ? grant.provider.tokenEndpoint : undefined];
    this.#http = createOAuthHttp(this.#url, { named, signal });
    this.#key = { server: `${this.#url.origin}${this.#url.pathname}`, account: settings.account ?? "", user };
  }

  headers(request: AuthorizedRequest): AuthHeaders | undefined | Promise<AuthHeaders | undefined> {
    if (this.#isCurrent() && !this.#expiresSoon()) return this.#proved(request);
    return this.#refreshed().then(() => this.#proved(request));
  }

  waitingForPerson(): Promise<unknown> | undefined {
    return this.#person;
  }

  async refused({ status, challenge: header, nonce, sent, attempt }: Refusal): Promise<boolean> {
    const challenge = tokenChallenge(header);
    if (challenge.error === "use_dpop_nonce" && nonce !== undefined && this.#prover !== undefined) {
      this.#prover.useNonce(this.#url, nonce);
      if (attempt < MAX_ATTEMPTS) return true;
    }
    const wantsScope = status === 403 && challenge.error === "insufficient_scope";
    if (status === 403 && !wantsScope) return false;
    // Another request, or another process, has obtained a new token in the meantime.
    const isOld = sent !== undefined && sent.authorization !== this.#headers?.authorization;
    if (this.#headers !== undefined && isOld) return attempt < MAX_ATTEMPTS;
    const { server, settings } = this.#options;
    const wasGranted = sent?.authorization !== undefined && sent.authorization === this.#granted;
    if (attempt >= MAX_ATTEMPTS || (status === 401 && wasGranted && attempt > 0))
      throw authFailed(
        server,
        `${server} refuses the new token, with HTTP ${status}`,
        `Check that your account has access to this server${settings.scopes === undefined ? "" : ", and the scopes under auth"}.`,
      );
    await this.#once(() => this.#obtain(challenge, wantsScope));
    return true;
  }

  /** Logs in even if there are tokens, for `portolan login`. Undefined if the server does not ask for a token. */
  async login({ scope, isNeeded = false }: LoginRequest = {}): Promise<Credential | undefined> {
    await this.#load();
    const challenge = (await this.#challenge()) ?? (isNeeded ? "" : undefined);
    if (challenge === undefined) return undefined;
    await this.#once(() => this.#grant(tokenChallenge(challenge), scope));
    return this.#credential;
  }

  /** True if the server refuses requests without a token, and there is no login. */
  async asksForLogin(): Promise<boolean> {
    await this.#load();
    return this.#credential?.tokens === undefined && (await this.#challenge()) !== undefined;
  }

  /** Removes the tokens, and tells the authorization server if it can revoke them. False if nobody was logged in. */
  async logout(): Promise<boolean> {
    await this.#load();
    const before = this.#credential;
    this.#use(await this.#options.store.update(this.#key, async () => undefined));
    if (before?.tokens === undefined) return false;
    await revoke(this.#endpoint(before), before.tokens).catch(() => {});
    return true;
  }

  /** The challenge of a request without a token; undefined if the server does not refuse it. */
  async #challenge(): Promise<string | undefined> {
    const { server } = this.#options;
    try {
      const response = await this.#http.fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
      return response.status === 401 ? (response.headers.get("www-authenticate") ?? "") : undefined;
    } catch (error) {
      if (!(error instanceof OAuthHttpError)) throw error;
      const hint = "Check the URL of the server, and that it can be reached from here.";
      throw authUnavailable(server, `${server} cannot be reached: ${error.message}`, hint, error);
    }
  }

  async #load(): Promise<void> {
    if (this.#isCurrent()) return;
    const { store } = this.#options;
    // Read before the login itself, so that a change in between is noticed.
    const version = store.version?.(this.#key);
    this.#use(await store.read(this.#key));
    this.#version = version;
  }

  /** False if another process has logged out, logged in or refreshed the tokens. */
  #isCurrent(): boolean {
    return this.#isLoaded && this.#options.store.version?.(this.#key) === this.#version;
  }

  #use(credential: Credential | undefined): void {
    this.#credential = credential;
    this.#isLoaded = true;
    const { tokens, client, dpop } = credential ?? {};
    const { settings, onSecrets } = this.#options;
    const secrets = [
      ...[tokens?.accessToken, tokens?.refreshToken, client?.clientSecret, dpop?.d],
      ...[settings.clientSecret, settings.clientKey?.pem],
    ];
    onSecrets?.(
      JSON.stringify(this.#key),
      secrets.filter((secret) => secret !== undefined),
    );
    const scheme = dpop === undefined ? "Bearer" : "DPoP";
    const authorization = tokens === undefined ? undefined : `${scheme} ${tokens.accessToken}`;
    if (this.#headers?.authorization === authorization) return;
    this.#headers = authorization === undefined ? undefined : { authorization };
    this.#prover = dpop && new DpopProver(dpop);
  }

  /** The headers, with a proof for this request if the token is bound to a key. */
  #proved(request: AuthorizedRequest): AuthHeaders | undefined {
    const token = this.#credential?.tokens?.accessToken;
    if (this.#prover === undefined || this.#headers === undefined) return this.#headers;
    return { ...this.#headers, dpop: this.#prover.prove(request, token) };
  }

  #expiresSoon(): boolean {
    const { expiresAt, obtainedAt } = this.#credential?.tokens ?? {};
    if (expiresAt === undefined || obtainedAt === undefined) return false;
    // A short life must not mean a refresh for every request.
    const early = Math.min(EARLY_MS, (expiresAt - obtainedAt) / 10);
    return Date.now() > expiresAt - early;
  }

  async #refreshed(): Promise<void> {
    await this.#load();
    if (!this.#expiresSoon() || this.#credential?.tokens?.refreshToken === undefined) return;
    // While the token is valid, an authorization server that failed gets no request for every request of the program.
    if (Date.now() < this.#retryAt && !this.#isExpired()) return;
    try {
      await this.#once(async () => void (await this.#refresh()));
    } catch (error) {
      // The token is valid for some more seconds, and the server decides.
      if (!isPortolanError(error) || this.#isExpired()) throw error;
    }
    if (this.#expiresSoon()) {
      this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, MIN_PAUSE_MS), MAX_PAUSE_MS);
      this.#retryAt = Date.now() + this.#pauseMs;
    } else this.#pauseMs = 0;
  }

  #isExpired(): boolean {
    const expiresAt = this.#credential?.tokens?.expiresAt;
    return expiresAt !== undefined && Date.now() > expiresAt;
  }

  async #once(work: () => Promise<void>): Promise<void> {
    this.#obtaining ??= work().finally(() => {
      this.#obtaining = undefined;
    });
    await this.#obtaining;
  }

  async #obtain(challenge: TokenChallenge, wantsScope: boolean): Promise<void> {
    await this.#load();
    const before = this.#credential;
    if (wantsScope || before?.tokens?.refreshToken === undefined) {
      const newer = await this.#options.store.read(this.#key);
      const isNewer = newer?.tokens !== undefined && newer.tokens.accessToken !== before?.tokens?.accessToken;
      if (isNewer) return this.#use(newer);
      return await this.#grant(challenge, wantsScope ? challenge.scope : undefined);
    }
    // The server may have moved to another authorization server, to which the refresh token must not be sent.
    const discovered = await this.#discover(challenge);
    const isSame = discovered.authorizationServer.issuer === before.issuer;
    if (isSame && (await this.#refresh())) return;
    await this.#grant(challenge, undefined, discovered);
  }

  /**
   * Refreshes under the lock of the credential: a refresh token is valid once, and a second process that sends it makes some
   * authorization servers end the login. False if a person must log in again.
   */
  async #refresh(): Promise<boolean> {
    const { store, server } = this.#options;
    const known = this.#credential?.tokens?.accessToken;
    const stored = await store.update(this.#key, async (current) => {
      const { tokens } = current ?? {};
      if (current === undefined || tokens === undefined) return current;
      if (tokens.accessToken !== known || tokens.refreshToken === undefined) return current;
      const endpoint = { ...this.#endpoint(current), server };
      try {
        const { refreshToken, resource } = { ...current, ...tokens };
        const fresh = await requestTokens(endpoint, "refresh_token", {
          refresh_token: refreshToken,
          resource,
        });
        const client = storedClient(current.client, this.#options.settings);
        return { ...current, client, tokens: { ...tokens, ...defined(fresh) } };
      } catch (error) {
        if (!(error instanceof GrantRefused)) throw error;
        if (error.error === "invalid_grant") return { ...current, tokens: undefined };
        // The tokens may still be good. A client that the authorization server forgot is registered anew by the next login.
        const isForgotten = error.error === "invalid_client" || error.error === "unauthorized_client";
        return isForgotten ? { ...current, client: { ...current.client, expiresAt: 1 } } : current;
      }
    });
    this.#use(stored);
    return stored?.tokens !== undefined && stored.tokens.accessToken !== known;
  }

  #endpoint({ authorizationServer, client, dpop }: Credential): TokenEndpoint {
    const { server, settings } = this.#options;
    return {
      ...{ server, authorizationServer, clientKey: settings.clientKey, http: this.#http },
      client: currentClient(client, { settings, authorizationServer }),
      dpop: dpop && (this.#prover ?? new DpopProver(dpop)),
    };
  }

  async #discover(challenge: TokenChallenge): Promise<Discovered> {
    const { server, settings } = this.#options;
    try {
      return await discover({ name: server, url: this.#url, issuer: settings.issuer }, challenge, this.#http);
    } catch (error) {
      if (!(error instanceof OAuthHttpError)) throw error;
      const message = `${server} requires a token, but its authorization server cannot be used: ${error.message}`;
      if (error.isTemporary) throw authUnavailable(server, message, "Try again later.", error);
      throw authFailed(server, message, error.hint ?? "Report this to the operator of the server.", error);
    }
  }

  /** Logs in by the grant of the settings. `additional` are scopes that the server demands for one request. */
  async #grant(challenge: TokenChallenge, additional: string | undefined, found?: Discovered): Promise<void> {
    const { server, settings, user, openLoginPage, showDeviceCode, store, onSecrets, signal } = this.#options;
    const isPerson = isForPerson(settings);
    if (isPerson && openLoginPage === undefined && showDeviceCode === undefined) {
      const why =
        additional === undefined ? "requires a login" : `needs a login with the scopes ${additional}`;
      throw loginNeeded({ server, account: settings.account, user, scope: additional, why });
    }
    const discovered = found ?? (await this.#discover(challenge));
    const work = obtainTokens({
      ...{ server, settings, openLoginPage, showDeviceCode, onSecrets, signal, http: this.#http },
      ...{ discovered, challenge, additional, known: this.#credential },
      sharedClients: user === undefined ? undefined : store,
    });
    if (isPerson) this.#person = work.catch(() => {});
    try {
      const credential = await work;
      this.#use(await store.update(this.#key, async () => credential));
      this.#granted = this.#headers?.authorization;
    } finally {
      this.#person = undefined;
    }
  }
}

/** An answer without a refresh token keeps the old one. */
function defined(tokens: Tokens): Partial<Tokens> & { expiresAt: number | undefined } {
  const kept = Object.fromEntries(Object.entries(tokens).filter(([, value]) => value !== undefined));
  return { ...kept, expiresAt: tokens.expiresAt };
}
