// The device code grant (RFC 8628): a person enters a short code in the browser of any machine, while this one waits.

import { setTimeout as sleep } from "node:timers/promises";
import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { DEVICE_CODE } from "../client/oauth-client.ts";
import { authFailed } from "../problems.ts";
import type { OnSecrets } from "../request-auth.ts";
import { clientAuthentication, GrantRefused, type TokenEndpoint, toTokenError } from "./token-endpoint.ts";
import { requestTokens, type Tokens } from "./token-request.ts";

/** A person opens the address and types the code. Both texts come from the authorization server. */
export interface DeviceCode {
  readonly server: string;
  readonly verificationUri: URL;
  /** The same page with the code filled in. */
  readonly verificationUriComplete?: URL;
  readonly userCode: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Shows the code to a person. */
export type ShowDeviceCode = (code: DeviceCode) => void | Promise<void>;

export interface DeviceRequest {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  readonly show: ShowDeviceCode;
  readonly onSecrets?: OnSecrets;
  readonly signal?: AbortSignal;
  /** Default: a timer. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

const INTERVAL_MS = 5_000;
const MIN_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 60_000;
const MAX_LIFE_MS = 60 * 60_000;
const MAX_USER_CODE = 100;

/** Throws a GrantRefused if the client may not use device codes, so that the caller can choose another way. */
export async function requestByDeviceCode(endpoint: TokenEndpoint, request: DeviceRequest): Promise<Tokens> {
  const { server, authorizationServer } = endpoint;
  const { scope, resource, signal, wait = (ms) => sleep(ms, undefined, { signal }) } = request;
  const { deviceCode, intervalMs, ...shown } = await requestCode(endpoint, request);
  const owner = `login ${globalThis.crypto.randomUUID()}`;
  request.onSecrets?.(owner, [deviceCode]);
  try {
    await request.show({ server, ...shown });
    return await poll();
  } finally {
    request.onSecrets?.(owner, []);
  }

  async function poll(): Promise<Tokens> {
    let interval = intervalMs;
    for (;;) {
      await wait(Math.min(interval, Math.max(0, shown.expiresAt - Date.now())));
      if (Date.now() >= shown.expiresAt) throw expired(server);
      try {
        return await requestTokens(endpoint, DEVICE_CODE, { device_code: deviceCode, scope, resource });
      } catch (error) {
        if (error instanceof GrantRefused) {
          if (error.error === "slow_down") interval = Math.min(interval + INTERVAL_MS, MAX_INTERVAL_MS);
          else if (error.error !== "authorization_pending") throw ended(error);
        } else if (isPortolanError(error) && error.code === "AUTH_UNAVAILABLE")
          // The code is still good when the authorization server works again.
          interval = Math.min(interval * 2, MAX_INTERVAL_MS);
        else throw error;
      }
    }
  }

  function ended(error: GrantRefused): Error {
    if (error.error === "expired_token") return expired(server);
    if (error.error === "access_denied")
      return authFailed(
        server,
        "the login was denied, by the person or by the authorization server",
        "Log in again.",
        error,
      );
    return authFailed(
      server,
      `${authorizationServer.issuer} refused to issue a token: ${error.message}`,
      "Log in again.",
      error,
    );
  }
}

async function requestCode(
  endpoint: TokenEndpoint,
  { scope, resource }: DeviceRequest,
): Promise<Omit<DeviceCode, "server"> & { readonly deviceCode: string; readonly intervalMs: number }> {
  const { server, authorizationServer, client, http } = endpoint;
  const oauth = await import("oauth4webapi");
  const parameters = Object.entries({ scope, resource }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  try {
    const response = await oauth.deviceAuthorizationRequest(
      authorizationServer,
      { client_id: client.clientId },
      await clientAuthentication(endpoint),
      parameters,
      { [oauth.customFetch]: http.fetch, [oauth.allowInsecureRequests]: true },
    );
    const received = await oauth.processDeviceAuthorizationResponse(
      authorizationServer,
      { client_id: client.clientId },
      response,
    );
    const verificationUri = pageIn(received.verification_uri);
    if (verificationUri === undefined || received.user_code.length > MAX_USER_CODE)
      throw authFailed(
        server,
        `${authorizationServer.issuer} returned a device code that cannot be used`,
        "Report this to the operator of the authorization server.",
      );
    return {
      deviceCode: received.device_code,
      userCode: received.user_code,
      verificationUri,
      verificationUriComplete: pageIn(received.verification_uri_complete),
      expiresAt: Date.now() + Math.min(received.expires_in * 1_000, MAX_LIFE_MS),
      intervalMs: Math.min(
        Math.max((received.interval ?? INTERVAL_MS / 1_000) * 1_000, MIN_INTERVAL_MS),
        MAX_INTERVAL_MS,
      ),
    };
  } catch (error) {
    if (isPortolanError(error)) throw error;
    throw toTokenError(server, authorizationServer, error, oauth.ResponseBodyError);
  }
}

/** People type passwords on this page. */
function pageIn(text: string | undefined): URL | undefined {
  const url = text === undefined ? undefined : parseUrl(text);
  return url !== undefined && isSecureUrl(url) ? url : undefined;
}

function expired(server: string): PortolanError {
  return new PortolanError("TIMEOUT", "the login timed out: nobody entered the code in a browser", {
    server,
    hint: "Log in again.",
  });
}
