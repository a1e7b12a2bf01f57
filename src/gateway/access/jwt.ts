// JWT verification: signature, issuer, audience, expiry and scopes.

import type { JWTPayload } from "jose";
import type { Report } from "../../errors/index.ts";
import type { GatewayOAuth } from "../../model/index.ts";
import { createIssuerKeys, KeysUnavailable } from "./issuer-keys.ts";

/** Asymmetric algorithms only: with a shared secret, the gateway itself could have signed the token. */
const ALGORITHMS: string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
/** Tolerated difference of clocks. */
const SKEW_S = 60;

export type TokenCheck =
  | { readonly kind: "valid"; readonly claims: Claims }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "unavailable"; readonly retryInMs: number };

export interface Claims extends JWTPayload {
  readonly iss: string;
  readonly sub: string;
  readonly exp: number;
}

export interface JwtOptions {
  readonly oauth: GatewayOAuth;
  readonly now: () => number;
  readonly report: Report;
}

/** Returns the function that checks a token. It must be made for one of the audiences. */
export function createJwtCheck(
  options: JwtOptions,
): (token: string, audiences: readonly string[]) => Promise<TokenCheck> {
  const { oauth } = options;
  const findKey = createIssuerKeys(options);

  return async (token, audiences) => {
    const { errors, jwtVerify } = await import("jose");
    const rules = {
      algorithms: ALGORITHMS,
      issuer: oauth.issuer,
      audience: [...audiences],
      clockTolerance: SKEW_S,
      requiredClaims: ["sub", "exp"],
    };
    const verify = async (): Promise<JWTPayload> => {
      try {
        return (await jwtVerify(token, findKey, rules)).payload;
      } catch (error) {
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
        // The token names no key, so every matching key is tried.
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
        return { kind: "invalid", reason: "it has no subject" };
      return { kind: "valid", claims: claims as Claims };
    } catch (error) {
      if (error instanceof KeysUnavailable) return { kind: "unavailable", retryInMs: error.retryInMs };
      if (error instanceof errors.JOSEError) return { kind: "invalid", reason: toReason(error) };
      throw error;
    }
  };
}

export function scopesOf({ scope, scp }: JWTPayload): Set<string> {
  const words = [scope, scp].flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
  return new Set(words.flatMap((word) => (typeof word === "string" ? word.split(" ") : [])).filter(Boolean));
}

/** The messages of jose may repeat parts of the token, so they are replaced. */
function toReason({ code, claim }: { readonly code: string; readonly claim?: unknown }): string {
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return "it has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return CLAIMS[String(claim)] ?? "one of its claims is invalid";
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "its signature algorithm is not accepted";
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "the issuer does not publish the key that signed it";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature does not match the key of the issuer";
    default:
      return "it is malformed";
  }
}

const CLAIMS: Readonly<Record<string, string>> = {
  iss: "it is from another issuer",
  aud: "its audience is not this gateway",
  nbf: "it is not valid yet",
  exp: "it has no expiry time",
  sub: "it has no subject",
};
