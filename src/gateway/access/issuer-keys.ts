// The keys of the issuer: fetched when first needed, kept, fetched again for a key that is new. An issuer that is down is left alone for a while.

import type { FlattenedJWSInput, JWSHeaderParameters, RemoteJWKSet } from "jose";
import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth } from "../../model/index.ts";
import { discoverKeys, toReason } from "./discovery.ts";

const TIMEOUT_MS = 5_000;
/** After the issuer was asked for its keys, unknown keys do not make it be asked again for this long. */
const COOLDOWN_MS = 30_000;
const MAX_AGE_MS = 10 * 60_000;
const PAUSE_MS = 5_000;

/** The keys cannot be had: says nothing about the token. */
export class KeysUnavailable extends Error {
  readonly retryInMs: number;
  constructor(retryInMs: number) {
    super("the keys of the issuer cannot be had");
    this.retryInMs = retryInMs;
  }
}

export interface IssuerKeysOptions {
  readonly oauth: GatewayOAuth;
  readonly fetch: typeof globalThis.fetch;
  readonly now: () => number;
  readonly report: Report;
}

type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => ReturnType<RemoteJWKSet>;

/** Finds the key for a token. Throws KeysUnavailable, or jose's own errors when there is no such key. */
export function createIssuerKeys(options: IssuerKeysOptions): FindKey {
  const { oauth, now, report } = options;
  let keys: Promise<RemoteJWKSet> | undefined;
  let failedAt: number | undefined;
  let told: string | undefined;

  /** Only what goes over the network: keys that are known stay good while the issuer is down. */
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    const left = failedAt === undefined ? 0 : failedAt + PAUSE_MS - now();
    if (left > 0) throw new KeysUnavailable(left);
    try {
      const value = await work();
      failedAt = undefined;
      return value;
    } catch (error) {
      failedAt = now();
      const reason = toReason(error);
      if (reason !== told)
        report({
          code: "HTTP_ERROR",
          severity: "error",
          message: `tokens of ${oauth.issuer} cannot be checked: ${reason}`,
          hint: "They are refused until its keys can be fetched.",
        });
      told = reason;
      throw new KeysUnavailable(PAUSE_MS);
    }
  };

  const open = async (): Promise<RemoteJWKSet> => {
    const { createRemoteJWKSet, customFetch } = await import("jose");
    const url =
      oauth.jwksUrl === undefined
        ? await ask(() => discoverKeys(oauth.issuer, options.fetch))
        : new URL(oauth.jwksUrl);
    return createRemoteJWKSet(url, {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: MAX_AGE_MS,
      [customFetch]: (href: string, init: RequestInit) =>
        ask(async () => {
          const response = await fetchKeys(href, init, options.fetch);
          told = undefined;
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
      // The issuer may keep its keys elsewhere by now.
      if (error instanceof KeysUnavailable && oauth.jwksUrl === undefined && !set.fresh) keys = undefined;
      throw error;
    }
  };
}

/** The whole answer, read here so that everything that can be wrong with it is wrong in one place. */
async function fetchKeys(href: string, init: RequestInit, fetch: typeof globalThis.fetch): Promise<Response> {
  const response = await fetch(href, init);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${href} answered with status ${response.status}`);
  }
  const keys: unknown = await response.json().catch(() => undefined);
  const { createLocalJWKSet } = await import("jose");
  try {
    createLocalJWKSet(keys as Parameters<typeof createLocalJWKSet>[0]);
  } catch {
    throw new Error(`${href} holds no key set`);
  }
  return Response.json(keys);
}
