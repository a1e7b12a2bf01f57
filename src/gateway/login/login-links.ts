// Links for logins: each waits for its caller to open it in a browser, to prove who they are, and to log in at the server.

import { randomBytes } from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import type { LoginOffer, LoginWanted } from "../../hub/index.ts";

const LIFE_MS = 10 * 60_000;
const MAX_LINKS = 10_000;
const MAX_PER_CALLER = 50;

export interface LoginLink {
  readonly id: string;
  /** Only the person behind this caller may use it. */
  readonly caller: string;
  readonly server: string;
  /** Runs the login; the latest request of the caller decides about its scopes. */
  logIn: LoginWanted["logIn"];
  readonly done: Promise<void>;
  readonly settle: (error?: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class LoginLinks {
  readonly #byId = new Map<string, LoginLink>();
  readonly #lifeMs: number;

  constructor(lifeMs: number = LIFE_MS) {
    this.#lifeMs = lifeMs;
  }

  /** A caller that needs the same login again gets the same link. */
  make(caller: string, { server, logIn }: LoginWanted, toUrl: (id: string) => string): LoginOffer {
    const own = [...this.#byId.values()].filter((link) => link.caller === caller);
    const known = own.find((link) => link.server === server);
    if (known !== undefined) known.logIn = logIn;
    const { id, done } = known ?? this.#add(caller, server, logIn, own);
    return { id, url: toUrl(id), done };
  }

  find(id: string): LoginLink | undefined {
    return this.#byId.get(id);
  }

  /** Ends a link: its login is done, or has failed for good. */
  end(link: LoginLink, error?: Error): void {
    clearTimeout(link.timer);
    this.#byId.delete(link.id);
    link.settle(error);
  }

  close(): void {
    for (const link of [...this.#byId.values()])
      this.end(link, new PortolanError("CONNECTION_CLOSED", "the gateway is stopping"));
  }

  #add(caller: string, server: string, logIn: LoginLink["logIn"], own: readonly LoginLink[]): LoginLink {
    const [oldest] = own.length >= MAX_PER_CALLER ? own : this.#byId.values();
    if (oldest !== undefined && (own.length >= MAX_PER_CALLER || this.#byId.size >= MAX_LINKS))
      this.end(oldest, tooLate(oldest.server));
    const { promise: done, resolve, reject } = promiseWithResolvers();
    // The caller may have stopped waiting for this login.
    done.catch(() => {});
    const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
    const timer = setTimeout(() => this.end(link, tooLate(server)), this.#lifeMs).unref();
    const id = randomBytes(32).toString("base64url");
    const link: LoginLink = { id, caller, server, logIn, done, settle, timer };
    this.#byId.set(id, link);
    return link;
  }
}

function promiseWithResolvers(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
} {
  let resolve = (): void => {};
  let reject = (_error: Error): void => {};
  const promise = new Promise<void>((onDone, onError) => {
    resolve = onDone;
    reject = onError;
  });
  return { promise, resolve, reject };
}

function tooLate(server: string): PortolanError {
  return new PortolanError("AUTH_REQUIRED", `the login at ${server} timed out`, {
    server,
    hint: "Repeat the call to get another link.",
  });
}
