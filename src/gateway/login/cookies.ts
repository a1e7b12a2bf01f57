// Cookies of the login pages: which authorization a browser began, and which caller the person in front of it proved to be.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A person need not prove again who they are for this long. */
const IDENTITY_MS = 8 * 60 * 60_000;
const AUTHORIZATION_S = 10 * 60;

export class LoginCookies {
  readonly #key: Buffer;
  readonly #isSecure: boolean;
  readonly #path: string;
  readonly #now: () => number;

  constructor(key: Buffer, base: URL, now: () => number = Date.now) {
    // The key signs other things too.
    this.#key = createHmac("sha256", key).update("portolan login cookies").digest();
    this.#isSecure = base.protocol === "https:";
    this.#path = `${base.pathname.replace(/\/$/, "")}/login`;
    this.#now = now;
  }

  /** The caller of the browser; undefined if it has not proved one. */
  callerOf(header: string | undefined): string | undefined {
    const [caller = "", expiresAt = "", mac = ""] = (this.#read(header, "caller") ?? "").split(".");
    const expected = Buffer.from(this.#sign(caller, expiresAt));
    const given = Buffer.from(mac);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    if (!(Number(expiresAt) > this.#now())) return undefined;
    return Buffer.from(caller, "base64url").toString("utf8");
  }

  /** The Set-Cookie header after a person has proved to be this caller. */
  forCaller(name: string): string {
    const caller = Buffer.from(name, "utf8").toString("base64url");
    const expiresAt = String(this.#now() + IDENTITY_MS);
    return this.#write(
      "caller",
      `${caller}.${expiresAt}.${this.#sign(caller, expiresAt)}`,
      IDENTITY_MS / 1_000,
    );
  }

  authorizationOf(header: string | undefined): string | undefined {
    return this.#read(header, "authorization");
  }

  /** A new secret of the browser, and its Set-Cookie header. */
  forAuthorization(): { readonly binding: string; readonly header: string } {
    const binding = randomBytes(32).toString("base64url");
    return { binding, header: this.#write("authorization", binding, AUTHORIZATION_S) };
  }

  #sign(caller: string, expiresAt: string): string {
    return createHmac("sha256", this.#key).update(`${caller}.${expiresAt}`).digest("base64url");
  }

  /** The prefix `__Host-` keeps other hosts of the domain from setting the cookie; it demands the path "/". */
  #name(name: string): string {
    return `${this.#isSecure ? "__Host-" : ""}portolan-login-${name}`;
  }

  #write(name: string, value: string, seconds: number): string {
    const where = this.#isSecure ? "Path=/; Secure" : `Path=${this.#path}`;
    // Lax: the cookie must be there when an authorization server sends the browser back.
    return `${this.#name(name)}=${value}; ${where}; HttpOnly; SameSite=Lax; Max-Age=${seconds}`;
  }

  #read(header: string | undefined, name: string): string | undefined {
    const wanted = `${this.#name(name)}=`;
    const found = header?.split(";", 100).find((part) => part.trim().startsWith(wanted));
    return found?.trim().slice(wanted.length);
  }
}
