// OAuth issuer: authenticates callers by the issuer's tokens, and describes the gateway as a protected resource (RFC 9728).

import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth, GatewaySettings } from "../../model/index.ts";
import { Secret } from "../../secrets/index.ts";
import { createCallerLookup } from "./callers.ts";
import { type Claims, createJwtCheck, scopesOf } from "./jwt.ts";
import { createLruMap } from "./lru-map.ts";
import { badToken, type Challenge, missingScope, noKeys, notACaller } from "./refusals.ts";
import type { AuthenticatedCaller, AuthResult } from "./types.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MCP = "/mcp";
/** Paths at which the gateway serves a part of its servers, or an older transport. */
const SCOPED = /^(?:\/(?:servers|tags)\/[^/]{1,200})?\/(?:mcp|sse)$/;
const MAX_CACHED = 10_000;
/** A key that the issuer withdraws stays trusted for this long at most, in addition to the cache time of the key set. */
const CACHE_MS = 60_000;

export interface OAuthIssuer {
  /** `path` is the path of the refused request below that of the gateway, such as `/servers/notes/mcp`. */
  challenge(path: string | undefined): Challenge;
  metadata(path: string): object | undefined;
  /** Returns the function that authenticates a token; `hash` is the hash of the token. */
  createAuthenticator(callers: ReadonlyMap<string, AuthenticatedCaller>): Authenticate;
}

type Authenticate = (
  token: string,
  hash: string,
  path: string | undefined,
) => AuthResult | Promise<AuthResult>;

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
  /** Clients compare the resource with the URL that their user typed, so each path of the gateway is one. */
  const resourceAt = (path: string | undefined): string => {
    const whole = resource();
    return path === undefined || path === MCP || !whole.endsWith(MCP)
      ? whole
      : `${whole.slice(0, -MCP.length)}${path}`;
  };
  const challenge = (path: string | undefined): Challenge => {
    const { origin, pathname } = new URL(resourceAt(path));
    return { scopes, metadataUrl: `${origin}${WELL_KNOWN}${pathname.replace(/\/$/, "")}` };
  };
  /** The resource that the path of a metadata document describes. */
  const describedBy = (path: string): string | undefined => {
    const { pathname } = new URL(resource());
    const described = path.slice(WELL_KNOWN.length);
    if (["", MCP, pathname.replace(/\/$/, "")].includes(described)) return resource();
    const folder = pathname.endsWith(MCP) ? pathname.slice(0, -MCP.length) : undefined;
    if (folder === undefined || !described.startsWith(folder)) return undefined;
    const own = described.slice(folder.length);
    return SCOPED.test(own) ? resourceAt(own) : undefined;
  };

  return {
    challenge,
    metadata(path) {
      const described = describedBy(path);
      if (described === undefined) return undefined;
      return {
        resource: described,
        authorization_servers: [oauth.issuer],
        ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
        bearer_methods_supported: ["header"],
      };
    },
    createAuthenticator(callers) {
      const check = createJwtCheck(options);
      const audiencesAt = (path: string | undefined): string[] =>
        oauth.audience === undefined ? [...new Set([resource(), resourceAt(path)])] : [oauth.audience];
      const findCaller = createCallerLookup(settings, callers, now);
      const cache = createLruMap<{ readonly result: AuthResult; readonly until: number }>(MAX_CACHED);
      const pending = new Map<string, Promise<AuthResult>>();

      const authorize = (claims: Claims, token: string, path: string | undefined): AuthResult => {
        const granted = scopesOf(claims);
        const missing = scopes.filter((scope) => !granted.has(scope));
        if (missing.length > 0) return { refusal: missingScope(challenge(path), missing) };
        const caller = findCaller(claims);
        return caller === undefined
          ? { refusal: notACaller() }
          : { caller: { ...caller, scopes: [...granted], subject: new Secret(token) } };
      };

      const verify = async (token: string, key: string, path: string | undefined): Promise<AuthResult> => {
        const checked = await check(token, audiencesAt(path));
        if (checked.kind === "invalid") return { refusal: badToken(challenge(path), checked.reason) };
        if (checked.kind === "unavailable") return { refusal: noKeys(checked.retryInMs / 1_000) };
        const result = authorize(checked.claims, token, path);
        const left = Math.min(CACHE_MS, checked.claims.exp * 1_000 - Date.now());
        if (left > 0) cache.set(key, { result, until: now() + left });
        return result;
      };

      return (token, hash, path) => {
        // The same token may be valid at one path only.
        const key = path === undefined || path === MCP ? hash : `${hash} ${path}`;
        const known = cache.get(key);
        if (known !== undefined && known.until > now()) return known.result;
        if (known !== undefined) cache.delete(key);
        // Concurrent requests with one token share one verification.
        const running = pending.get(key);
        if (running !== undefined) return running;
        const started = verify(token, key, path).finally(() => pending.delete(key));
        pending.set(key, started);
        return started;
      };
    },
  };
}
