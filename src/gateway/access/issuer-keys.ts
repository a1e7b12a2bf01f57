// Keys of the OAuth issuer: discovered and fetched when first needed, cached, fetched again for an unknown key, with a pause after errors.

import type { FlattenedJWSInput, JWSHeaderParameters, RemoteJWKSet } from "jose";
import { boundedFetch } from "../../base/net/bounded-fetch.ts";
import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import { type GatewayOAuth, isObject } from "../../model/index.ts";

const TIMEOUT_MS = 5_000;
/** Key sets and metadata have a few kilobytes. */
const MAX_BYTES = 1024 * 1024;
/** After fetching the keys, an unknown key does not cause another fetch for this long. */
const COOLDOWN_MS = 30_000;
const MAX_AGE_MS = 10 * 60_000;
/** After an error, the issuer gets no request for this long. */
const PAUSE_MS = 5_000;

/** The keys cannot be fetched, so the token can be neither accepted nor refused. */
export class KeysUnavailable extends Error {
  readonly retryInMs: number;
  constructor(retryInMs: number) {
    super("the keys of the issuer cannot be fetched");
    this.retryInMs = retryInMs;
  }
}

export interface IssuerKeysOptions {
  readonly oauth: GatewayOAuth;
  readonly now: () => number;
  readonly report: Report;
}

type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => ReturnType<RemoteJWKSet>;

/** Finds the key of a token. Throws KeysUnavailable, or an error of jose when there is no such key. */
export function createIssuerKeys(options: IssuerKeysOptions): FindKey {
  const { oauth, now, report } = options;
  let keys: Promise<RemoteJWKSet> | undefined;
  let failedAt: number | undefined;
  let reported: string | undefined;

  /** Runs a network request. Cached keys stay valid while the issuer is down, so only requests are paused. */
  const request = async <T>(work: () => Promise<T>): Promise<T> => {
    const left = failedAt === undefined ? 0 : failedAt + PAUSE_MS - now();
    if (left > 0) throw new KeysUnavailable(left);
    try {
      const value = await work();
      failedAt = undefined;
      return value;
    } catch (error) {
      failedAt = now();
      const reason = toReason(error);
      if (reason !== reported)
        report({
          code: "HTTP_ERROR",
          severity: "error",
          message: `the gateway cannot check tokens of ${oauth.issuer}: ${reason}`,
          hint: `The gateway refuses these tokens until it can fetch the keys of the issuer, and tries again by itself. If the problem persists, ${oauth.jwksUrl === undefined ? "check gateway.oauth.issuer, or set gateway.oauth.jwks_url" : "check gateway.oauth.jwks_url"}.`,
        });
      reported = reason;
      throw new KeysUnavailable(PAUSE_MS);
    }
  };

  const open = async (): Promise<RemoteJWKSet> => {
    const { createRemoteJWKSet, customFetch } = await import("jose");
    const url =
      oauth.jwksUrl === undefined ? await request(() => discoverKeys(oauth.issuer)) : new URL(oauth.jwksUrl);
    return createRemoteJWKSet(url, {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: MAX_AGE_MS,
      [customFetch]: (href: string) =>
        request(async () => {
          const response = await fetchKeys(href);
          reported = undefined;
          return response;
        }),
    });
  };

  return async (header, token) => {
    keys ??= open().catch((error: unknown) => {
      keys = undefined;
      throw error;
    });
    const set = await keys;
    try {
      return await set(header, token);
    } catch (error) {
      // The issuer may have moved its keys, so the next token discovers them again.
      if (error instanceof KeysUnavailable && oauth.jwksUrl === undefined && !set.fresh) keys = undefined;
      throw error;
    }
  };
}

/** Reads and validates the whole key set here, so that every error of it is handled in one place. */
async function fetchKeys(href: string): Promise<Response> {
  const { status, text } = await fetchText(href);
  if (status !== 200) throw new Error(`${href} returned status ${status}`);
  const { createLocalJWKSet } = await import("jose");
  try {
    const keys: unknown = JSON.parse(text);
    createLocalJWKSet(keys as Parameters<typeof createLocalJWKSet>[0]);
  } catch {
    throw new Error(`${href} contains no key set`);
  }
  return new Response(text);
}

/** The operator named the issuer, which may be in a private network. */
async function fetchText(address: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await boundedFetch(new URL(address), {
    headers: { accept: "application/json, application/jwk-set+json" },
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    addresses: "any",
    decompress: true,
  });
  const { status } = response;
  if (status === 200) return { status, text: (await response.bytes()).toString("utf8") };
  response.close();
  return { status, text: "" };
}

/** Finds the JWKS URL in the metadata of the issuer (RFC 8414, OpenID Connect). Throws HTTP_ERROR with the URLs that were tried. */
async function discoverKeys(issuer: string): Promise<URL> {
  const reasons: string[] = [];
  for (const url of metadataUrls(issuer)) {
    const found = await readMetadata(url, issuer);
    if (typeof found !== "string") return found;
    reasons.push(`${url}: ${found}`);
  }
  throw new PortolanError(
    "HTTP_ERROR",
    `the issuer ${issuer} has no usable OAuth metadata (${reasons.join("; ")})`,
  );
}

/** The metadata URLs of an issuer, in the order in which they are tried. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  return path === "" ? urls : [...urls, `${origin}${path}/.well-known/openid-configuration`];
}

/** The JWKS URL, or the reason for having none as text. */
async function readMetadata(url: string, issuer: string): Promise<URL | string> {
  let metadata: unknown;
  try {
    const { status, text } = await fetchText(url);
    if (status !== 200) return `status ${status}`;
    metadata = JSON.parse(text);
  } catch (error) {
    return toReason(error);
  }
  if (!isObject(metadata)) return "the metadata is not an object";
  // The metadata of another issuer would lead to the keys of another issuer.
  if (metadata.issuer !== issuer)
    return `the metadata is of another issuer, ${JSON.stringify(metadata.issuer)}`;
  const { jwks_uri: keys } = metadata;
  const keysUrl = typeof keys === "string" ? parseUrl(keys) : undefined;
  if (keysUrl === undefined) return "the metadata has no jwks_uri";
  return isSecureUrl(keysUrl) ? keysUrl : "the jwks_uri is not https";
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
