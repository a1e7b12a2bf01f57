// The client towards an authorization server: registered by a person, described by a document, or registered on the fly.

import type { AuthorizationServer } from "oauth4webapi";
import { isLoopbackHost } from "../../base/net/addresses.ts";
import { isObject, type OAuthSettings } from "../../model/index.ts";
import { type OAuthHttp, OAuthHttpError } from "../http.ts";
import { authFailed, authUnavailable } from "../problems.ts";

export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod: ClientAuthMethod;
  /** Set for a client that was registered on the fly: it is used with this redirect address only. */
  readonly registeredFor?: string;
  /** Set for a client that was registered on the fly to use device codes. */
  readonly usesDeviceCodes?: true;
  /** Seconds since 1970; after this time it is registered again. */
  readonly expiresAt?: number;
}

export interface ClientOptions {
  readonly server: string;
  readonly settings: OAuthSettings;
  readonly authorizationServer: AuthorizationServer;
  readonly http: OAuthHttp;
}

export const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";

const BY_PREFERENCE = ["none", "client_secret_basic", "client_secret_post"] as const;

/** A client that needs no registration, if there is one. */
export function configuredClient({
  settings,
  authorizationServer,
}: Pick<ClientOptions, "settings" | "authorizationServer">): OAuthClient | undefined {
  const { clientId, clientSecret, clientKey, clientMetadataUrl } = settings;
  const { token_endpoint_auth_methods_supported: listed = ["client_secret_basic"] } = authorizationServer;
  if (clientId !== undefined) {
    if (clientKey !== undefined) return { clientId, authMethod: "private_key_jwt" };
    if (clientSecret === undefined) return { clientId, authMethod: "none" };
    const isPost = listed.includes("client_secret_post") && !listed.includes("client_secret_basic");
    return { clientId, clientSecret, authMethod: isPost ? "client_secret_post" : "client_secret_basic" };
  }
  const knowsDocuments = authorizationServer.client_id_metadata_document_supported === true;
  if (clientMetadataUrl === undefined || !knowsDocuments) return undefined;
  return { clientId: clientMetadataUrl, authMethod: clientKey === undefined ? "none" : "private_key_jwt" };
}

/** The client without a secret of the settings, which is read from there each time: it may be rotated, and is not ours to store. */
export function storedClient(client: OAuthClient, { clientId }: OAuthSettings): OAuthClient {
  return client.clientId === clientId ? { ...client, clientSecret: undefined } : client;
}

/** The stored client, with the secret or the key that the settings have for it now. */
export function currentClient(
  stored: OAuthClient,
  options: Pick<ClientOptions, "settings" | "authorizationServer">,
): OAuthClient {
  const configured = configuredClient(options);
  if (configured === undefined || configured.clientId !== stored.clientId) return stored;
  // The login has found out how the authorization server wants the secret, and its metadata is not stored.
  const isSecret = (method: ClientAuthMethod): boolean => method.startsWith("client_secret");
  const isKept = isSecret(configured.authMethod) && isSecret(stored.authMethod);
  return { ...configured, authMethod: isKept ? stored.authMethod : configured.authMethod };
}

/** The use of a client: logins in a browser that come back to this address, or device codes. */
export type ClientUse = { readonly redirectUri: string } | "device-code";

/** A native application may come back to any port of this address. Some servers want one even of clients that never do. */
const ANY_PORT = "http://127.0.0.1/callback";

/** Dynamic client registration (RFC 7591). */
export async function registerClient(
  options: Omit<ClientOptions, "settings">,
  use: ClientUse,
): Promise<OAuthClient> {
  const { server, authorizationServer, http } = options;
  const { registration_endpoint: endpoint, token_endpoint_auth_methods_supported: listed } =
    authorizationServer;
  if (endpoint === undefined)
    throw authFailed(
      server,
      `Portolan is not a registered client of ${authorizationServer.issuer}, which does not let clients register themselves`,
      "Register a client at the authorization server by hand, and write its client_id under auth in the config of the server.",
    );
  const wanted =
    BY_PREFERENCE.find((method) => listed?.includes(method)) ?? (listed ? undefined : "client_secret_basic");
  const response = await send();
  const json: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !isObject(json) || typeof json.client_id !== "string")
    throw authFailed(
      server,
      `${authorizationServer.issuer} did not register a client: ${reasonOf(json) ?? `HTTP ${response.status}`}`,
      "Register a client at the authorization server by hand, and write its client_id under auth in the config of the server.",
    );
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expiresAt } = json;
  const clientSecret = typeof secret === "string" && secret !== "" ? secret : undefined;
  return {
    clientId,
    clientSecret,
    authMethod: methodOf(json.token_endpoint_auth_method, wanted, clientSecret),
    ...(use === "device-code" ? { usesDeviceCodes: true } : { registeredFor: use.redirectUri }),
    expiresAt: typeof expiresAt === "number" && expiresAt > 0 ? expiresAt : undefined,
  };

  async function send(): Promise<Response> {
    try {
      return await http.fetch(endpoint as string, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          client_name: "Portolan",
          redirect_uris: [use === "device-code" ? ANY_PORT : use.redirectUri],
          grant_types: [use === "device-code" ? DEVICE_CODE : "authorization_code", "refresh_token"],
          response_types: use === "device-code" ? [] : ["code"],
          application_type: isNative(use) ? "native" : "web",
          token_endpoint_auth_method: wanted,
        }),
      });
    } catch (error) {
      if (!(error instanceof OAuthHttpError)) throw error;
      const message = `Portolan could not register as an OAuth client: ${error.message}`;
      if (error.isTemporary) throw authUnavailable(server, message, "Try again later.", error);
      throw authFailed(
        server,
        message,
        error.hint ?? "Report this to the operator of the authorization server.",
        error,
      );
    }
  }
}

/** Loopback addresses with any port are for native applications. */
function isNative(use: ClientUse): boolean {
  return use === "device-code" || isLoopbackHost(new URL(use.redirectUri).hostname);
}

function methodOf(
  given: unknown,
  wanted: ClientAuthMethod | undefined,
  secret: string | undefined,
): ClientAuthMethod {
  const method = BY_PREFERENCE.find((one) => one === given) ?? wanted;
  if (secret === undefined) return "none";
  return method ?? "client_secret_basic";
}

/** `error_description` or `error` of a response. */
export function reasonOf(json: unknown): string | undefined {
  if (!isObject(json)) return undefined;
  const found = [json.error_description, json.error].filter((one) => typeof one === "string");
  return found.find((one) => one !== "")?.slice(0, 300);
}
