// OAuth issuer: authenticates callers by the issuer's tokens, and describes the gateway as a protected resource (RFC 9728).

import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth, GatewaySettings } from "../../model/index.ts";
import { createCallerLookup } from "./callers.ts";
import { type Claims, createJwtCheck, scopesOf } from "./jwt.ts";
import { createLruMap } from "./lru-map.ts";
import { badToken, type Challenge, missingScope, noKeys, notACaller } from "./refusals.ts";
import type { AuthenticatedCaller, AuthResult } from "./types.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MAX_CACHED = 10_000;
/** A key that the issuer withdraws stays trusted for this long at most, in addition to the cache time of the key set. */
const CACHE_MS = 60_000;

export interface OAuthIssuer {
  challenge(): Challenge;
  metadata(path: string): object | undefined;
  /** Returns the function that authenticates a token; `hash` is the hash of the token. */
  createAuthenticator(
    callers: ReadonlyMap<string, AuthenticatedCaller>,
  ): (token: string, hash: string) => AuthResult | Promise<AuthResult>;
}

export interface OAuthIssuerOptions {
  readonly settings: GatewaySettings;
  readonly oauth: GatewayOAuth;
  /** The URL of the gateway; a function, because the port may be known only after listening. */
  readonly resource: () => string;
  readonly now: () => number;
  readonly report: Report;
}

export function createOAuthIssuer(options: OAuthIssuerOptions): OAuthIssuer {
  const { settings, oauth, resource, now } = options;
  const scopes = oauth.scopes ?? [];
  const challenge = (): Challenge => {
    const { origin, pathname } = new URL(resource());
    return { scopes, metadataUrl: `${origin}${WELL_KNOWN}${pathname.replace(/\/$/, "")}` };
  };

  return {
    challenge,
    metadata(path) {
      const { pathname } = new URL(resource());
      const known = [WELL_KNOWN, `${WELL_KNOWN}/mcp`, `${WELL_KNOWN}${pathname.replace(/\/$/, "")}`];
      if (!known.includes(path)) return undefined;
      return {
        resource: resource(),
        authorization_servers: [oauth.issuer],
        ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
        bearer_methods_supported: ["header"],
      };
    },
    createAuthenticator(callers) {
      const check = createJwtCheck({ ...options, audience: () => oauth.audience ?? resource() });
      const findCaller = createCallerLookup(settings, callers, now);
      const cache = createLruMap<{ readonly result: AuthResult; readonly until: number }>(MAX_CACHED);
      const pending = new Map<string, Promise<AuthResult>>();

      const authorize = (claims: Claims): AuthResult => {
        const granted = scopesOf(claims);
        const missing = scopes.filter((scope) => !granted.has(scope));
        if (missing.length > 0) return { refusal: missingScope(challenge(), missing) };
        const caller = findCaller(claims);
        return caller === undefined
          ? { refusal: notACaller() }
          : { caller: { ...caller, scopes: [...granted] } };
      };

      const verify = async (token: string, hash: string): Promise<AuthResult> => {
        const checked = await check(token);
        if (checked.kind === "invalid") return { refusal: badToken(challenge(), checked.reason) };
        if (checked.kind === "unavailable") return { refusal: noKeys(checked.retryInMs / 1_000) };
        const result = authorize(checked.claims);
        const left = Math.min(CACHE_MS, checked.claims.exp * 1_000 - Date.now());
        if (left > 0) cache.set(hash, { result, until: now() + left });
        return result;
      };

      return (token, hash) => {
        const known = cache.get(hash);
        if (known !== undefined && known.until > now()) return known.result;
        if (known !== undefined) cache.delete(hash);
        // Concurrent requests with one token share one verification.
        const running = pending.get(hash);
        if (running !== undefined) return running;
        const started = verify(token, hash).finally(() => pending.delete(hash));
        pending.set(hash, started);
        return started;
      };
    },
  };
}
