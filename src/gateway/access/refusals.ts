// The ways in which the door says no.

import type { ErrorCode } from "../../errors/index.ts";
import type { Refusal } from "./types.ts";

export function refuse(
  status: number,
  code: ErrorCode,
  message: string,
  hint: string,
  headers: Record<string, string> = {},
): Refusal {
  return { status, headers, error: { code, message, hint } };
}

export function wrongHost(hint: string): Refusal {
  return refuse(403, "FORBIDDEN", "the gateway does not answer to the Host of this request", hint);
}

export function wrongOrigin(): Refusal {
  return refuse(
    403,
    "FORBIDDEN",
    "web pages of this Origin may not use the gateway",
    "Whoever runs the gateway can add it to gateway.allowed_origins.",
  );
}

/** What every challenge tells a client that could get a token, when there is an issuer. */
export interface Challenge {
  readonly metadataUrl?: string | undefined;
  readonly scopes: readonly string[];
}

export function noToken(challenge: Challenge): Refusal {
  const hint = "Send the header Authorization: Bearer with the gateway's token, or with that of a caller.";
  return refuse(401, "AUTH_REQUIRED", "this request carries no bearer token", hint, toHeader(challenge));
}

/** `reason` never holds the token, nor anything else that only the issuer and its client should know. */
export function badToken(challenge: Challenge, reason: string): Refusal {
  const hint = "Get a new token, or check that the client sends the one that the gateway knows.";
  const message = `the bearer token is not valid: ${reason}`;
  return refuse(401, "AUTH_REQUIRED", message, hint, toHeader(challenge, "invalid_token"));
}

export function missingScope(challenge: Challenge, missing: readonly string[]): Refusal {
  const words = missing.map((scope) => JSON.stringify(scope)).join(", ");
  const message = `the bearer token lacks ${missing.length === 1 ? "the scope" : "the scopes"} ${words}`;
  const hint = "Ask the issuer for a token with the scopes that WWW-Authenticate names.";
  return refuse(403, "FORBIDDEN", message, hint, toHeader(challenge, "insufficient_scope"));
}

export function notACaller(): Refusal {
  const message = "the bearer token is valid, but none of the gateway's callers is meant by it";
  return refuse(
    403,
    "FORBIDDEN",
    message,
    "Whoever runs the gateway can add a caller with a fitting oauth rule.",
  );
}

export function noKeys(seconds: number): Refusal {
  const message = "the keys of the token issuer cannot be had, so the token cannot be checked";
  const hint = "Try again later; the gateway's log says what is wrong.";
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(seconds))) };
  return refuse(503, "SERVER_UNAVAILABLE", message, hint, headers);
}

/** Scopes and URLs hold no quotes: both are checked where they are declared. */
function toHeader({ metadataUrl, scopes }: Challenge, error?: string): Record<string, string> {
  const parts = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
  ];
  return { "WWW-Authenticate": parts.length === 0 ? "Bearer" : `Bearer ${parts.join(", ")}` };
}
