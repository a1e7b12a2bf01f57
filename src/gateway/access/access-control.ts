// Access control: checks Host and Origin of a request, and finds its caller by the bearer token.

import { isLoopbackHost, isUnspecifiedAddress } from "../../base/net/addresses.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { bearerOf, hashToken, indexTokens } from "./bearer-tokens.ts";
import { claimsFingerprint, createCaller } from "./callers.ts";
import { createHostRules } from "./hosts.ts";
import { createOAuthIssuer, type OAuthIssuer } from "./oauth.ts";
import { badToken, type Challenge, noToken } from "./refusals.ts";
import type { AccessControl, AuthenticatedCaller, AuthResult, RequestHead } from "./types.ts";

export interface AccessControlOptions {
  /** With the secret references in the tokens of callers resolved. */
  readonly settings: GatewaySettings;
  /** The gateway's own token: its caller is `local` and sees every tool. */
  readonly token: string | undefined;
  readonly boundHost: string;
  /** The URL of `/mcp` at which the gateway listens; undefined while it does not listen. */
  readonly url: () => string | undefined;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly report: Report;
}

/** Throws CONFIG_INVALID for a token that is malformed or that two callers share, and for OAuth without a resource. */
export function createAccessControl(options: AccessControlOptions): AccessControl {
  const { settings, boundHost } = options;
  const now = options.now ?? (() => performance.now());
  const hosts = createHostRules(settings, boundHost);
  const issuer = createIssuer(options, now);
  if (settings.auth === "none" && !isLoopbackHost(boundHost))
    options.report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `the gateway listens at ${boundHost} and requires no token: everyone who can reach this machine can use the gateway`,
      hint: "Require a token: remove auth: none under gateway in portolan.yaml, or start without --no-auth. Or listen at 127.0.0.1, which other machines cannot reach.",
    });
  const { authenticate, fingerprints } =
    settings.auth === "none" ? authenticateAnyone(settings, now) : authenticateByToken(options, issuer, now);
  return {
    authenticate,
    isCurrent: ({ fingerprint }) => fingerprints.has(fingerprint),
    checkHost: ({ headers }) => hosts.check(headers.host, headers.origin),
    cors(request) {
      const { host, origin } = request.headers;
      return origin === undefined || !hosts.allowsOrigin(origin, host)
        ? undefined
        : corsHeaders(request, origin);
    },
    resourceMetadata: (path) => issuer?.metadata(path),
  };
}

interface Authentication {
  readonly authenticate: AccessControl["authenticate"];
  /** The fingerprints of all callers. */
  readonly fingerprints: ReadonlySet<string>;
}

function authenticateAnyone(settings: GatewaySettings, now: () => number): Authentication {
  const caller = createCaller("anyone", {}, settings, now);
  const result: AuthResult = { caller };
  return { authenticate: () => result, fingerprints: new Set([caller.fingerprint]) };
}

function authenticateByToken(
  options: AccessControlOptions,
  issuer: OAuthIssuer | undefined,
  now: () => number,
): Authentication {
  const { settings, token, report } = options;
  const callers = new Map<string, AuthenticatedCaller>();
  for (const config of settings.callers ?? [])
    if (config.token !== undefined || config.tokenSha256 !== undefined)
      callers.set(config.name, createCaller(config.name, config, settings, now, config.oauth));
  const local = { token, caller: createCaller("local", {}, settings, now) };
  const results = new Map(
    [...indexTokens(settings, local, callers, report)].map(([hash, caller]) => [
      hash,
      { caller: withToken(caller, hash) },
    ]),
  );
  const authenticateSubject = issuer?.createAuthenticator(callers);
  const challenge = (path: string | undefined): Challenge => issuer?.challenge(path) ?? { scopes: [] };

  // Only the header is read, because a token in a URL ends up in logs and browser histories.
  const authenticate: Authentication["authenticate"] = ({ headers }, path) => {
    const bearer = bearerOf(headers.authorization);
    if (bearer === undefined) return { refusal: noToken(challenge(path)) };
    const hash = hashToken(bearer);
    const known = results.get(hash);
    if (known !== undefined) return known;
    if (authenticateSubject !== undefined && bearer.split(".", 4).length === 3)
      return authenticateSubject(bearer, hash, path);
    return { refusal: badToken(challenge(path), "no caller of this gateway has this token") };
  };
  const all = [...callers.values(), ...Array.from(results.values(), ({ caller }) => caller)];
  const fingerprints = new Set(all.map(({ fingerprint }) => fingerprint));
  return { authenticate, fingerprints: fingerprints.add(claimsFingerprint(settings)) };
}

/** The caller with one of its tokens. Sessions end with the token that opened them, not with another one of the caller. */
function withToken(caller: AuthenticatedCaller, tokenHash: string): AuthenticatedCaller {
  return { ...caller, fingerprint: hashToken(`${caller.fingerprint} ${tokenHash}`) };
}

const RESOURCE_HINT =
  "Set gateway.oauth.resource in portolan.yaml (in a program: settings.oauth.resource of openGateway()) to the URL that clients use, such as https://tools.example.com/mcp.";

function createIssuer(options: AccessControlOptions, now: () => number): OAuthIssuer | undefined {
  const { settings, boundHost, url, report } = options;
  const { oauth } = settings;
  if (oauth === undefined) return undefined;
  if (oauth.resource === undefined && isUnspecifiedAddress(boundHost))
    throw new PortolanError(
      "CONFIG_INVALID",
      "gateway.oauth.resource is missing; a gateway that listens at every address needs it",
      { hint: RESOURCE_HINT },
    );
  let isReported = false;
  const resource = (): string => {
    const found = oauth.resource ?? url();
    if (found !== undefined) return found;
    const message = "gateway.oauth.resource is missing; a gateway inside of another HTTP server needs it";
    // The error answers the client, which cannot change the settings.
    if (!isReported) report({ code: "CONFIG_INVALID", severity: "error", message, hint: RESOURCE_HINT });
    isReported = true;
    throw new PortolanError("CONFIG_INVALID", message, { hint: RESOURCE_HINT });
  };
  return createOAuthIssuer({ settings, oauth, resource, now, report });
}

const EXPOSED_HEADERS = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
/** Tool parameters travel in headers of any name that begins with `Mcp-Param-`, so the names are no fixed list. */
const ALLOWED_HEADER =
  /^(authorization|content-type|accept|last-event-id|traceparent|tracestate|baggage|mcp-[\w-]{1,100})$/i;
const MAX_HEADERS = 100;

/** The headers that let a browser page of an allowed Origin use the gateway. */
function corsHeaders({ method, headers }: RequestHead, origin: string): Record<string, string> {
  const cors: Record<string, string> = {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": EXPOSED_HEADERS,
    Vary: "Origin",
  };
  if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return cors;
  const wanted = (headers["access-control-request-headers"] ?? "").split(",", MAX_HEADERS);
  const allowed = wanted.map((name) => name.trim()).filter((name) => ALLOWED_HEADER.test(name));
  cors["Access-Control-Allow-Methods"] = "GET, POST, DELETE, OPTIONS";
  if (allowed.length > 0) cors["Access-Control-Allow-Headers"] = allowed.join(", ");
  cors["Access-Control-Max-Age"] = "600";
  if (headers["access-control-request-private-network"] === "true")
    cors["Access-Control-Allow-Private-Network"] = "true";
  return cors;
}
