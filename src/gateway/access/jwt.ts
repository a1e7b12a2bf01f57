// Tokens of the issuer: signature, issuer, audience, time and scopes. What was good is remembered for a moment.

import type { JWTPayload } from "jose";
import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth } from "../../model/index.ts";
import { createIssuerKeys, KeysUnavailable } from "./issuer-keys.ts";

/** A secret that both sides know is none: with these, only the issuer can have signed. */
const ALGORITHMS: string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const SKEW_S = 60;

export type Verdict =
  | { readonly kind: "good"; readonly claims: Claims }
  | { readonly kind: "bad"; readonly reason: string }
  | { readonly kind: "unknown"; readonly retryInMs: number };

export interface Claims extends JWTPayload {
  readonly iss: string;
  readonly sub: string;
  readonly exp: number;
}

export interface JwtOptions {
  readonly oauth: GatewayOAuth;
  readonly audience: () => string;
  readonly fetch: typeof globalThis.fetch;
  readonly now: () => number;
  readonly report: Report;
}

export function createJwtCheck(options: JwtOptions): (token: string) => Promise<Verdict> {
  const { oauth, audience } = options;
  const findKey = createIssuerKeys(options);

  return async (token) => {
    const { errors, jwtVerify } = await import("jose");
    const rules = {
      algorithms: ALGORITHMS,
      issuer: oauth.issuer,
      audience: audience(),
      clockTolerance: SKEW_S,
      requiredClaims: ["sub", "exp"],
    };
    const verify = async (): Promise<JWTPayload> => {
      try {
        return (await jwtVerify(token, findKey, rules)).payload;
      } catch (error) {
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
        // The token does not say which key it is signed with: one of those that fit must do.
        for await (const key of error) {
          try {
            return (await jwtVerify(token, key, rules)).payload;
          } catch (failure) {
            if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
          }
        }
        throw new errors.JWSSignatureVerificationFailed();
      }
    };
    try {
      const claims = await verify();
      if (typeof claims.sub !== "string" || claims.sub === "")
        return { kind: "bad", reason: "it has no subject" };
      return { kind: "good", claims: claims as Claims };
    } catch (error) {
      if (error instanceof KeysUnavailable) return { kind: "unknown", retryInMs: error.retryInMs };
      if (error instanceof errors.JOSEError) return { kind: "bad", reason: toReason(error) };
      throw error;
    }
  };
}

export function scopesOf({ scope, scp }: JWTPayload): Set<string> {
  const words = [scope, scp].flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  return new Set(words.flatMap((word) => (typeof word === "string" ? word.split(" ") : [])).filter(Boolean));
}

/** In our words: those of the library may repeat what stands in the token. */
function toReason({ code, claim }: { readonly code: string; readonly claim?: unknown }): string {
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return "it has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return CLAIMS[String(claim)] ?? "one of its claims is not right";
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "it is signed in a way that is not accepted";
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "its issuer has no such key";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is not that of the issuer";
    default:
      return "it is malformed";
  }
}

const CLAIMS: Readonly<Record<string, string>> = {
  iss: "it comes from another issuer",
  aud: "it is made for someone else than this gateway",
  nbf: "it is not valid yet",
  exp: "it does not say when it expires",
  sub: "it has no subject",
};
