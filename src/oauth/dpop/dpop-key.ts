// DPoP (RFC 9449): tokens that are bound to a key of this client. Each request proves that the sender has the key, so that a stolen
// token alone is of no use.

import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
  sign,
} from "node:crypto";

/** The private key as it is stored with a login. */
export interface DpopKey {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
  readonly d: string;
}

export interface ProvedRequest {
  readonly method: string;
  readonly url: URL;
}

export const DPOP_ALGORITHM = "ES256";

export function createDpopKey(): DpopKey {
  const {
    x = "",
    y = "",
    d = "",
  }: JsonWebKey = generateKeyPairSync("ec", {
    namedCurve: "P-256",
  }).privateKey.export({ format: "jwk" });
  return { kty: "EC", crv: "P-256", x, y, d };
}

/** Writes proofs with one key. Synchronous, because every request needs one. */
export class DpopProver {
  readonly #key: KeyObject;
  readonly #header: string;
  /** The nonce that a server demands, by its origin. */
  readonly #nonces = new Map<string, string>();

  constructor({ kty, crv, x, y, d }: DpopKey) {
    this.#key = createPrivateKey({ key: { kty, crv, x, y, d }, format: "jwk" });
    this.#header = encode({ typ: "dpop+jwt", alg: DPOP_ALGORITHM, jwk: { kty, crv, x, y } });
  }

  useNonce({ origin }: URL, nonce: string): void {
    this.#nonces.set(origin, nonce);
  }

  /** `accessToken` is the token that the request carries; a request for tokens has none. */
  prove({ method, url }: ProvedRequest, accessToken?: string): string {
    const payload = encode({
      jti: randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: Math.floor(Date.now() / 1_000),
      nonce: this.#nonces.get(url.origin),
      ath: accessToken && createHash("sha256").update(accessToken, "ascii").digest("base64url"),
    });
    const text = `${this.#header}.${payload}`;
    const signature = sign("sha256", Buffer.from(text), { key: this.#key, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
