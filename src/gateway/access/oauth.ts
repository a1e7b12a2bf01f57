// The part of the door that knows an OAuth issuer: its tokens, and the document that tells clients about it (RFC 9728).

import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth, GatewaySettings } from "../../model/index.ts";
import { type Claims, createJwtCheck, scopesOf } from "./jwt.ts";
import { createSubjects } from "./callers.ts";
import { createRecent } from "./lru-map.ts";
import { badToken, type Challenge, missingScope, noKeys, notACaller } from "./refusals.ts";
import type { Admission, Principal } from "./types.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MAX_REMEMBERED = 10_000;
/** A key that the issuer withdraws is trusted for this long at most beyond what the key set itself is kept. */
const REMEMBERED_MS = 60_000;

export interface IssuerDoor {
  challenge(): Challenge;
  metadata(path: string): object | undefined;
  /** `key` is the token's hash. */
  open(
    callers: ReadonlyMap<string, Principal>,
  ): (token: string, key: string) => Admission | Promise<Admission>;
}

export interface IssuerDoorOptions {
  readonly settings: GatewaySettings;
  readonly oauth: GatewayOAuth;
  /** The gateway's own URL; its port may be known only once it listens. */
  readonly resource: () => string;
  readonly fetch: typeof globalThis.fetch;
  readonly now: () => number;
  readonly report: Report;
}

export function createIssuerDoor(options: IssuerDoorOptions): IssuerDoor {
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
    open(callers) {
      const check = createJwtCheck({ ...options, audience: () => oauth.audience ?? resource() });
      const subjectOf = createSubjects(settings, callers, now);
      const remembered = createRecent<{ readonly admission: Admission; readonly until: number }>(
        MAX_REMEMBERED,
      );
      const underWay = new Map<string, Promise<Admission>>();

      const judge = (claims: Claims): Admission => {
        const held = scopesOf(claims);
        const missing = scopes.filter((scope) => !held.has(scope));
        if (missing.length > 0) return { refusal: missingScope(challenge(), missing) };
        const principal = subjectOf(claims);
        return principal === undefined
          ? { refusal: notACaller() }
          : { principal: { ...principal, scopes: [...held] } };
      };

      const decide = async (token: string, key: string): Promise<Admission> => {
        const verdict = await check(token);
        if (verdict.kind === "bad") return { refusal: badToken(challenge(), verdict.reason) };
        if (verdict.kind === "unknown") return { refusal: noKeys(verdict.retryInMs / 1_000) };
        const admission = judge(verdict.claims);
        const left = Math.min(REMEMBERED_MS, verdict.claims.exp * 1_000 - Date.now());
        if (left > 0) remembered.set(key, { admission, until: now() + left });
        return admission;
      };

      return (token, key) => {
        const known = remembered.get(key);
        if (known !== undefined && known.until > now()) return known.admission;
        if (known !== undefined) remembered.delete(key);
        // Many requests with one token are one check.
        const running = underWay.get(key);
        if (running !== undefined) return running;
        const started = decide(token, key).finally(() => underWay.delete(key));
        underWay.set(key, started);
        return started;
      };
    },
  };
}
