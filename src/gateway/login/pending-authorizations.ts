// Pending authorization requests: a browser was redirected to an authorization server, and returns once with the response.

import { timingSafeEqual } from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import type { LoginPage, OpenLoginPage } from "../../oauth/index.ts";
import type { LoginLink } from "./login-links.ts";

const LIFE_MS = 10 * 60_000;
const MAX_PENDING = 10_000;

export interface PendingAuthorization {
  /** The purpose of the redirect: to prove who the person is, or to log in at the server. */
  readonly kind: "identity" | "login";
  readonly link: LoginLink;
  /** Secret of the browser that began the authorization, in a cookie: another browser cannot finish it. */
  readonly binding: string;
  /** Passes the answer of the login page on. */
  readonly answer: (answer: URL) => void;
  /** Resolves when the answer has been used. */
  readonly finished: Promise<void>;
}

interface Entry extends PendingAuthorization {
  readonly abandon: (error: PortolanError) => void;
  readonly timer: NodeJS.Timeout;
}

export class PendingAuthorizations {
  /** By the `state` of the request to the login page. */
  readonly #entries = new Map<string, Entry>();

  /**
   * Runs `work` with a login page whose answer comes back to `redirectUri`. Resolves to the address of the page as soon as it is
   * known, or to undefined if none was needed. Rejects if `work` fails before that.
   */
  begin(
    start: Pick<PendingAuthorization, "binding" | "link" | "kind">,
    redirectUri: string,
    work: (openLoginPage: OpenLoginPage) => Promise<void>,
  ): Promise<URL | undefined> {
    return new Promise((resolve, reject) => {
      let own = "";
      const page: LoginPage = {
        redirectUri,
        show: (address, state) =>
          new Promise<URL>((answer, fail) => {
            own = state;
            const timer = setTimeout(() => fail(tooLate(start.link.server)), LIFE_MS).unref();
            const [oldest] = this.#entries.keys();
            if (oldest !== undefined && this.#entries.size >= MAX_PENDING)
              this.#abandon(oldest, "too many logins began after it");
            this.#entries.set(state, { ...start, answer, finished, abandon: fail, timer });
            resolve(address);
          }),
        close: async () => void this.#remove(own),
      };
      const finished = work(async () => page);
      finished.then(() => resolve(undefined), reject);
    });
  }

  /** Removes and returns the authorization of an answer, if this browser began it. */
  take(state: string, binding: string | undefined): PendingAuthorization | undefined {
    const authorization = this.#entries.get(state);
    if (authorization === undefined || binding === undefined || !isEqual(authorization.binding, binding))
      return undefined;
    return this.#remove(state);
  }

  close(): void {
    for (const state of [...this.#entries.keys()]) this.#abandon(state, "the gateway stopped");
  }

  #abandon(state: string, reason: string): void {
    const entry = this.#remove(state);
    entry?.abandon(cancelled(entry.link.server, reason));
  }

  #remove(state: string): Entry | undefined {
    const entry = this.#entries.get(state);
    clearTimeout(entry?.timer);
    this.#entries.delete(state);
    return entry;
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function tooLate(server: string): PortolanError {
  return new PortolanError("TIMEOUT", `the login at ${server} timed out`, {
    server,
    hint: "Repeat the call to get another link.",
  });
}

function cancelled(server: string, reason: string): PortolanError {
  return new PortolanError("AUTH_REQUIRED", `the login at ${server} was cancelled: ${reason}`, {
    server,
    hint: "Repeat the call to get another link.",
  });
}
