// Refusals of access control: HTTP status, error code, message and hint.

import type { ErrorCode } from "../../errors/index.ts";
import type { Refusal } from "./types.ts";

export function createRefusal(
  status: number,
  code: ErrorCode,
  message: string,
  hint: string,
  headers: Record<string, string> = {},
): Refusal {
  return { status, headers, error: { code, message, hint } };
}

export function wrongHost(hint: string): Refusal {
  return createRefusal(403, "FORBIDDEN", "the Host header of this request is not allowed", hint);
}

export function wrongOrigin(): Refusal {
  return createRefusal(
    403,
    "FORBIDDEN",
    "the Origin header of this request is not allowed",
    "The operator of the gateway can add the origin to gateway.allowed_origins.",
  );
}

/** Parts of the WWW-Authenticate header that help a client to get a token. */
export interface Challenge {
  readonly metadataUrl?: string;
  readonly scopes: readonly string[];
}

export function noToken(challenge: Challenge): Refusal {
  const tokens =
    challenge.metadataUrl === undefined
      ? "the token of the gateway or of a caller"
      : "a token of the OAuth issuer, or the token of the gateway or of a caller";
  const hint = `Send the header Authorization: Bearer <token>, with ${tokens}.`;
  return createRefusal(
    401,
    "AUTH_REQUIRED",
    "this request carries no bearer token",
    hint,
    toHeader(challenge),
  );
}

/** `reason` must not contain the token or other data between issuer and client. */
export function badToken(challenge: Challenge, reason: string): Refusal {
  const hint = "Get a new token, or check the token that the client sends.";
  const message = `the bearer token is not valid: ${reason}`;
  return createRefusal(401, "AUTH_REQUIRED", message, hint, toHeader(challenge, "invalid_token"));
}

export function missingScope(challenge: Challenge, missing: readonly string[]): Refusal {
  const words = missing.map((scope) => JSON.stringify(scope)).join(", ");
  const message = `the bearer token lacks ${missing.length === 1 ? "the scope" : "the scopes"} ${words}`;
  const hint = "Request a token with the scopes that the WWW-Authenticate header of this response names.";
  return createRefusal(403, "FORBIDDEN", message, hint, toHeader(challenge, "insufficient_scope"));
}

export function notACaller(): Refusal {
  const message = "the bearer token is valid, but no caller in the config of the gateway matches it";
  return createRefusal(
    403,
    "FORBIDDEN",
    message,
    "The operator of the gateway can add a caller with a matching oauth rule to gateway.callers.",
  );
}

export function noKeys(seconds: number): Refusal {
  const message = "the gateway cannot check the token, because it cannot fetch the keys of the token issuer";
  const hint = "Try again later. The log of the gateway contains the reason.";
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(seconds))) };
  return createRefusal(503, "AUTH_UNAVAILABLE", message, hint, headers);
}

/** Scopes and URLs contain no quotes, because validation of the settings refuses them. */
function toHeader({ metadataUrl, scopes }: Challenge, error?: string): Record<string, string> {
  const parts = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
  ];
  return { "WWW-Authenticate": parts.length === 0 ? "Bearer" : `Bearer ${parts.join(", ")}` };
}
