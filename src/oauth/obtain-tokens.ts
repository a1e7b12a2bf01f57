// Obtains the first tokens of a login: chooses the client and the scopes, and runs the grant of the settings.

import { isPortolanError } from "../errors/index.ts";
import type { OAuthSettings } from "../model/index.ts";
import {
  type ClientUse,
  configuredClient,
  type OAuthClient,
  registerClient,
  storedClient,
} from "./client/oauth-client.ts";
import type { TokenChallenge } from "./discovery/challenge.ts";
import type { Discovered } from "./discovery/discover.ts";
import { createDpopKey, DpopProver } from "./dpop/dpop-key.ts";
import { requestByCode } from "./grants/authorization-code.ts";
import { requestByDeviceCode, type ShowDeviceCode } from "./grants/device-code.ts";
import { requestByAssertion, requestByEnterprise } from "./grants/enterprise.ts";
import { GrantRefused, type TokenEndpoint } from "./grants/token-endpoint.ts";
import { requestTokens, type Tokens } from "./grants/token-request.ts";
import type { OAuthHttp } from "./http.ts";
import type { OpenLoginPage } from "./login/login-page.ts";
import { authFailed } from "./problems.ts";
import type { OnSecrets } from "./request-auth.ts";
import type { Credential, CredentialStore } from "./store/credential.ts";

export interface ObtainOptions {
  readonly server: string;
  readonly settings: OAuthSettings;
  readonly http: OAuthHttp;
  readonly discovered: Discovered;
  readonly challenge: TokenChallenge;
  /** Scopes that the server demands for one request, beside those of the login. */
  readonly additional: string | undefined;
  /** The stored login, whose client is used again. */
  readonly known: Credential | undefined;
  /** The clients that the users of a gateway share; undefined for a login with a client of its own. */
  readonly sharedClients?: Pick<CredentialStore, "updateClient">;
  readonly openLoginPage?: OpenLoginPage;
  readonly showDeviceCode?: ShowDeviceCode;
  readonly onSecrets?: OnSecrets;
  readonly signal?: AbortSignal;
}

/** True if a person logs in, false if the client has its own credentials. */
export function isForPerson({ grant }: OAuthSettings): boolean {
  return grant === undefined || grant.type === "authorization-code";
}

export async function obtainTokens(options: ObtainOptions): Promise<Credential> {
  const { server, settings, discovered, known } = options;
  const { authorizationServer, resource } = discovered;
  const { issuer, token_endpoint, revocation_endpoint } = authorizationServer;
  const scope = scopeOf(options);
  const before = known?.issuer === issuer ? known : undefined;
  const dpop = discovered.usesDpop ? (before?.dpop ?? createDpopKey()) : undefined;
  const prover = dpop && new DpopProver(dpop);
  const endpointOf = (client: OAuthClient): TokenEndpoint => ({
    ...{ server, authorizationServer, client, clientKey: settings.clientKey, http: options.http },
    dpop: prover,
  });
  try {
    const { client, tokens } = await grantTokens({ ...options, known: before }, scope, endpointOf);
    return {
      ...{ issuer, tokens, scope, resource },
      client: storedClient(client, settings),
      dpop: tokens.tokenType.toLowerCase() === "dpop" ? dpop : undefined,
      authorizationServer: { issuer, token_endpoint, revocation_endpoint },
    };
  } catch (error) {
    if (!(error instanceof GrantRefused)) throw error;
    const hint = refusalHint(error, settings);
    throw authFailed(server, `${issuer} refused to issue a token: ${error.message}`, hint, error);
  }
}

function refusalHint({ error }: GrantRefused, settings: OAuthSettings): string {
  const { clientId, scopes } = settings;
  if (!isForPerson(settings)) return "Check the settings under auth in the config of the server.";
  if (/^(?:invalid|unauthorized)_client$/.test(error) && clientId !== undefined)
    return "Check client_id and client_secret under auth in the config of the server.";
  return error === "invalid_scope" && scopes !== undefined
    ? "Check scopes under auth in the config of the server."
    : "Log in again.";
}

interface Granted {
  readonly client: OAuthClient;
  readonly tokens: Tokens;
}

type EndpointOf = (client: OAuthClient) => TokenEndpoint;

async function grantTokens(
  options: ObtainOptions,
  scope: string | undefined,
  endpointOf: EndpointOf,
): Promise<Granted> {
  const { settings, discovered } = options;
  const { resource } = discovered;
  const grant = settings.grant ?? { type: "authorization-code" };
  if (grant.type === "authorization-code")
    return (
      (await byDeviceCode(options, scope, endpointOf)) ?? (await byLoginPage(options, scope, endpointOf))
    );
  const client = configuredClient({ settings, authorizationServer: discovered.authorizationServer });
  if (client === undefined) throw unknownClient(options);
  const endpoint = endpointOf(client);
  switch (grant.type) {
    case "client-credentials":
      return { client, tokens: await requestTokens(endpoint, "client_credentials", { scope, resource }) };
    case "enterprise": {
      const { provider } = grant;
      return { client, tokens: await requestByEnterprise(endpoint, { provider, resource, scope }) };
    }
    case "jwt-bearer": {
      const { assertion } = grant;
      return { client, tokens: await requestByAssertion(endpoint, { assertion, scope, resource }) };
    }
  }
}

/** Undefined if the authorization server or the client does not support device codes, and there is a login page instead. */
async function byDeviceCode(
  options: ObtainOptions,
  scope: string | undefined,
  endpointOf: EndpointOf,
): Promise<Granted | undefined> {
  const { server, discovered, showDeviceCode: show, openLoginPage, onSecrets, signal } = options;
  const { authorizationServer, resource } = discovered;
  if (show === undefined) return undefined;
  const hasPage = openLoginPage !== undefined;
  if (authorizationServer.device_authorization_endpoint === undefined) {
    if (hasPage) return undefined;
    throw authFailed(
      server,
      `${authorizationServer.issuer} does not support logins with a device code`,
      "Log in with a browser instead of a device code.",
    );
  }
  let isShown = false;
  try {
    const client = await clientFor(options, "device-code");
    const tokens = await requestByDeviceCode(endpointOf(client), {
      ...{ scope, resource, onSecrets, signal },
      show: (code) => {
        isShown = true;
        return show(code);
      },
    });
    return { client, tokens };
  } catch (error) {
    const isRefused =
      error instanceof GrantRefused || (isPortolanError(error) && error.code === "AUTH_FAILED");
    if (isRefused && hasPage && !isShown) return undefined;
    throw error;
  }
}

async function byLoginPage(
  options: ObtainOptions,
  scope: string | undefined,
  endpointOf: EndpointOf,
): Promise<Granted> {
  const { server, settings, discovered, openLoginPage, onSecrets, known } = options;
  if (openLoginPage === undefined) throw new Error("there is no login page");
  const wanted = settings.redirectUri ?? known?.client.registeredFor;
  const page = await openLoginPage({ server, redirectUri: wanted });
  try {
    const { redirectUri } = page;
    const client = await clientFor(options, { redirectUri });
    try {
      const tokens = await requestByCode(endpointOf(client), {
        ...{ redirectUri, scope, resource: discovered.resource, onSecrets },
        show: (address, state) => page.show(address, state),
      });
      return { client, tokens };
    } catch (error) {
      await forgetClient(options, redirectUri, client, error);
      throw error;
    }
  } finally {
    await page.close();
  }
}

/** The client of the settings, the one that was registered for the same use before, or a new one. */
async function clientFor(options: ObtainOptions, use: ClientUse): Promise<OAuthClient> {
  const { server, settings, discovered, http, known, sharedClients } = options;
  const { authorizationServer } = discovered;
  const configured = configuredClient({ settings, authorizationServer });
  if (configured !== undefined) return configured;
  const { client } = known ?? {};
  if (client !== undefined && isUsable(client, use)) return client;
  const register = (): Promise<OAuthClient> => registerClient({ server, authorizationServer, http }, use);
  if (use === "device-code") return await register();
  const shared = await sharedClients?.updateClient?.(
    sharedName(options, use.redirectUri),
    async (current) => {
      // The authorization server may have forgotten the client of this login, which is then marked as expired.
      const isForgotten = current?.clientId === client?.clientId;
      return current !== undefined && isUsable(current, use) && !isForgotten ? current : await register();
    },
  );
  return shared ?? (await register());
}

function isUsable({ usesDeviceCodes, registeredFor, expiresAt }: OAuthClient, use: ClientUse): boolean {
  const isSame = use === "device-code" ? usesDeviceCodes === true : registeredFor === use.redirectUri;
  return isSame && (expiresAt === undefined || expiresAt * 1_000 > Date.now());
}

/**
 * A login that ends without an answer may have failed because the authorization server does not know the client any more, and shows
 * that only in the browser. The next login then registers a new one. Logins that exist keep their client.
 */
async function forgetClient(
  options: ObtainOptions,
  redirectUri: string,
  { clientId }: OAuthClient,
  error: unknown,
): Promise<void> {
  const isKnown =
    error instanceof GrantRefused
      ? !/^(?:invalid|unauthorized)_client$/.test(error.error)
      : isPortolanError(error) && error.code === "AUTH_FAILED";
  if (isKnown) return;
  await options.sharedClients?.updateClient?.(sharedName(options, redirectUri), async (current) =>
    current?.clientId === clientId ? undefined : current,
  );
}

function sharedName({ discovered }: ObtainOptions, redirectUri: string): string {
  return JSON.stringify([discovered.authorizationServer.issuer, redirectUri]);
}

function unknownClient({ server, discovered }: ObtainOptions): Error {
  return authFailed(
    server,
    `${discovered.authorizationServer.issuer} requires a registered client, and the config has no client_id`,
    "Write client_id under auth in the config of the server.",
  );
}

function scopeOf({ settings, discovered, challenge, additional, known }: ObtainOptions): string | undefined {
  const { scopes, authorizationServer } = discovered;
  const asked = settings.scopes ?? split(challenge.scope) ?? scopes ?? [];
  const before = additional === undefined ? [] : (split(known?.scope) ?? []);
  const all = new Set([...before, ...asked, ...(split(additional) ?? [])]);
  const givesRefreshTokens = authorizationServer.scopes_supported?.includes("offline_access") === true;
  if (settings.scopes === undefined && isForPerson(settings) && givesRefreshTokens) all.add("offline_access");
  return all.size === 0 ? undefined : [...all].join(" ");
}

function split(text: string | undefined): string[] | undefined {
  const words = text?.split(" ").filter((word) => word !== "");
  return words === undefined || words.length === 0 ? undefined : words;
}
