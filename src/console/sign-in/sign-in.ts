// Sign-in of the console: a one-time code or the gateway's token in, a session cookie out.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Sessions } from "./sessions.ts";

/** A code is for the person who reads the terminal now. */
const CODE_MS = 5 * 60_000;
const MAX_CODES = 20;
const MAX_SECRET = 1_000;

export interface SignInOptions {
  readonly sessions: Sessions;
  /** The gateway's own token that is in use. */
  readonly token: () => string;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
}

export class SignIn {
  readonly #sessions: Sessions;
  readonly #token: () => string;
  readonly #now: () => number;
  /** Expiry times by the hash of the code. */
  readonly #codes = new Map<string, number>();

  constructor({ sessions, token, now = () => performance.now() }: SignInOptions) {
    this.#sessions = sessions;
    this.#token = token;
    this.#now = now;
  }

  /** Creates a code that signs in once, within five minutes. */
  createCode(): string {
    const code = randomBytes(32).toString("base64url");
    const [oldest] = this.#codes.keys();
    if (this.#codes.size >= MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);
    this.#codes.set(sha256(code).toString("hex"), this.#now() + CODE_MS);
    return code;
  }

  /**
   * The id of a new session; undefined if the code or token is wrong, used or expired. Programs on other computers have the token, too,
   * so that it signs in on this computer only.
   */
  async exchange(
    given: { readonly code?: unknown; readonly token?: unknown },
    acceptsToken: boolean,
  ): Promise<string | undefined> {
    const isRight = this.#takeCode(given.code) || (acceptsToken && this.#isToken(given.token));
    return isRight ? this.#sessions.create() : undefined;
  }

  #takeCode(code: unknown): boolean {
    if (typeof code !== "string" || code.length > MAX_SECRET) return false;
    const key = sha256(code).toString("hex");
    const expires = this.#codes.get(key);
    this.#codes.delete(key);
    return expires !== undefined && expires > this.#now();
  }

  #isToken(token: unknown): boolean {
    if (typeof token !== "string" || token.length > MAX_SECRET) return false;
    return timingSafeEqual(sha256(token.trim()), sha256(this.#token()));
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
