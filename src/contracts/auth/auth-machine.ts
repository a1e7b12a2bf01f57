// Logins of drivers: unknown, unauthed, logging-in, authed, expired; one for each driver, workspace and user.

import { isPortolanError } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import {
  type AuthCase,
  type AuthPorts,
  canRefresh,
  isLoggedIn,
  isOutOfWays,
  noWay,
  runLogin,
  runRefresh,
  showsLogin,
} from "./login-steps.ts";
import { authKey, type AuthRecord, type AuthStore } from "./auth-store.ts";
import type { AuthState } from "../routing/capability.ts";
import { isExpired, signsOf } from "./expiry.ts";
import { fail, Failure } from "../dispatch/failure.ts";
import { hasLogin } from "../driver/process-key.ts";
import { type CallContext, type DriverHooks, LOCAL_USER, type LoginResult } from "../driver/bound-tool.ts";

export type AuthOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure };

export interface AuthTransition {
  readonly driver: string;
  readonly context: CallContext;
  readonly from: AuthState;
  readonly to: AuthState;
}

const OK: AuthOutcome = { ok: true };
const LOGIN_MS = 300_000;
/** What other processes write is looked for no more often than this, and what they leave in files than that. */
const READ_MS = 1_000;
const LOOK_MS = 3_000;
const MOST_LOOKS = 10_000;
/** Answers of servers that have not done anything yet. */
const TURNED_AWAY: ReadonlySet<number | undefined> = new Set([401, 403]);

export class AuthMachine {
  readonly #store: AuthStore;
  readonly #ports: AuthPorts;
  readonly #changed: (transition: AuthTransition) => void;
  /** Logins, checks and refreshes under way: whoever needs the same one waits for it. */
  readonly #running = new Map<string, Promise<AuthOutcome>>();
  /** When it was last looked whether somebody has logged in elsewhere. */
  readonly #looks = new Map<string, number>();
  #readAt = -Infinity;

  constructor(store: AuthStore, ports: AuthPorts, changed: (transition: AuthTransition) => void) {
    this.#store = store;
    this.#ports = ports;
    this.#changed = changed;
  }

  /** Whether there is a login to speak of; a driver without one is always ready. */
  concerns(driver: Driver, hooks: DriverHooks): boolean {
    return hooks.login !== undefined || hooks.refresh !== undefined || hasLogin(driver);
  }

  stateOf(driver: Driver, hooks: DriverHooks, context: CallContext): AuthState {
    if (!this.concerns(driver, hooks)) return "authed";
    return this.#store.get(keyOf(driver, context))?.state ?? "unknown";
  }

  /** As routing may take it: what can mend itself is not turned away. */
  routingState(driver: Driver, hooks: DriverHooks, context: CallContext): AuthState {
    const state = this.stateOf(driver, hooks, context);
    return state === "expired" && canRefresh(driver, hooks) ? "unknown" : state;
  }

  /** Logged in and fresh by the end of it, or the reason why not. Only an interactive caller is asked to log in. */
  async ready(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    outer: AbortSignal | undefined,
  ): Promise<AuthOutcome> {
    const key = keyOf(driver, context);
    if (this.#isFresh(this.#store.get(key))) {
      if (performance.now() - this.#readAt < READ_MS) return OK;
      // Somebody may have logged out with another program.
      await this.#reload(driver, context);
      if (this.#isFresh(this.#store.get(key))) return OK;
    }
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const limit = AbortSignal.timeout(this.#ports.loginTimeoutMs ?? LOGIN_MS);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    const work = this.#settle({ driver, hooks, context, signal }).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    return work;
  }

  /**
   * A failure that is the driver's sign of an expired login becomes `auth_required`. `begun` is when the call began: a
   * login that was renewed since has not expired. One that has just been renewed in vain is none.
   */
  noticed(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    failure: Failure,
    { begun = Infinity, inVain = false }: { readonly begun?: number; readonly inVain?: boolean } = {},
  ): Failure {
    const signs = signsOf(failure);
    const expired = hooks.detectExpiry?.(signs) ?? isExpired(driver.auth?.expiryDetect, signs);
    const denied = failure.error.code === "auth_required" && this.concerns(driver, hooks);
    if (!expired && !denied) return failure;
    const known = this.#store.get(keyOf(driver, context));
    const renewed = known?.state === "authed" && known.since > begun;
    if (!renewed || inVain) void this.#note({ driver, context }, inVain ? "unauthed" : "expired");
    const message = `${driver.id}: the login has expired: ${failure.error.message}.${howToLogIn(driver, context)}`;
    const cause = loginCause(driver);
    return new Failure(
      { code: "auth_required", message, retryable: false, cause },
      failure.neverSent || TURNED_AWAY.has(signs.httpStatus),
    );
  }

  /** After a call failed for want of a login: whether another attempt would begin with a fresh one. */
  canRenew(driver: Driver, hooks: DriverHooks, context: CallContext): boolean {
    const state = this.stateOf(driver, hooks, context);
    return state === "authed" || (state === "expired" && canRefresh(driver, hooks));
  }

  /** Whether somebody has logged in since, with another program perhaps: asked before a caller is turned away. */
  async lookAgain(driver: Driver, hooks: DriverHooks, context: CallContext): Promise<boolean> {
    const key = keyOf(driver, context);
    await this.#reload(driver, context);
    const known = this.#store.get(key);
    if (known?.state === "authed") return true;
    if (known?.loggedOut === true || !showsLogin(driver)) return false;
    const running = this.#running.get(key);
    if (running !== undefined) return (await running).ok;
    if (performance.now() - (this.#looks.get(key) ?? -Infinity) < LOOK_MS) return false;
    if (this.#looks.size >= MOST_LOOKS) this.#looks.clear();
    this.#looks.set(key, performance.now());
    const one = { driver, hooks, context, signal: AbortSignal.timeout(LOGIN_MS) };
    if (!(await isLoggedIn(one, this.#ports))) return false;
    await this.#note(one, "authed", this.#nextRefresh(driver));
    return true;
  }

  /** Nobody is logged in any more, whatever files are still there, until somebody logs in. */
  async logout(driver: Driver, context: CallContext): Promise<void> {
    await this.#set({ driver, context }, "unauthed", undefined, true);
  }

  now(): number {
    return this.#ports.now?.() ?? Date.now();
  }

  async #settle(one: AuthCase): Promise<AuthOutcome> {
    const { driver, hooks, context } = one;
    const key = keyOf(driver, context);
    // Somebody may have logged in with another program since.
    if (this.#store.get(key)?.state !== "authed") await this.#reload(driver, context);
    const known = this.#store.get(key);
    let state = known?.state ?? "unknown";
    if (this.#isFresh(known)) return OK;
    if ((state === "authed" || state === "expired") && canRefresh(driver, hooks)) {
      const refreshed = await runRefresh(one, this.#ports);
      const next = refreshed.ok
        ? (refreshed.nextRefreshAt?.getTime() ?? this.#nextRefresh(driver))
        : undefined;
      await this.#note(one, refreshed.ok ? "authed" : "unauthed", next);
      if (refreshed.ok) return OK;
      state = "unauthed";
    } else if (state === "unknown" && (await isLoggedIn(one, this.#ports))) {
      await this.#note(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    if (context.interactive === true) return this.#login(one);
    if (state !== "unauthed") await this.#note(one, "unauthed");
    return { ok: false, failure: required(driver, context, "nobody is logged in") };
  }

  async #login(one: AuthCase): Promise<AuthOutcome> {
    const { driver, signal } = one;
    await this.#set(one, "logging-in");
    let result: LoginResult;
    try {
      result = await runLogin(one, this.#ports);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const cannot = isPortolanError(error) && error.code === "AUTH_REQUIRED";
      result = cannot ? noWay(message) : { ok: false, reason: "upstream_error", message };
    }
    if (result.ok) {
      await this.#set(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    await this.#set(one, "unauthed");
    const why = result.message ?? result.reason.replaceAll("_", " ");
    const failure =
      isOutOfWays(result) || signal.aborted
        ? required(driver, one.context, why)
        : fail("auth_failed", `${driver.id}: the login failed: ${why}`, { retryable: false });
    return { ok: false, failure };
  }

  /** What cannot be written down is known for as long as this program runs. */
  async #note(
    one: Pick<AuthCase, "driver" | "context">,
    to: AuthState,
    nextRefreshAt?: number,
  ): Promise<void> {
    await this.#set(one, to, nextRefreshAt).catch(() => {});
  }

  async #set(
    { driver, context }: Pick<AuthCase, "driver" | "context">,
    to: AuthState,
    nextRefreshAt?: number,
    loggedOut = false,
  ): Promise<void> {
    const key = keyOf(driver, context);
    const from = this.#store.get(key)?.state ?? "unknown";
    const next = nextRefreshAt === undefined ? {} : { nextRefreshAt };
    const out = loggedOut ? ({ loggedOut } as const) : {};
    const saved = this.#store.set(key, { state: to, since: this.now(), ...next, ...out });
    if (from !== to) this.#changed({ driver: driver.id, context, from, to });
    await saved;
  }

  #isFresh(record: AuthRecord | undefined): boolean {
    if (record?.state !== "authed") return false;
    return record.nextRefreshAt === undefined || this.now() < record.nextRefreshAt;
  }

  #nextRefresh({ auth }: Driver): number | undefined {
    const every = auth?.refresh?.everyMs;
    return every === undefined ? undefined : this.now() + every;
  }

  async #reload(driver: Driver, context: CallContext): Promise<void> {
    const key = keyOf(driver, context);
    const from = this.#store.get(key)?.state ?? "unknown";
    this.#readAt = performance.now();
    if (!(await this.#store.reload())) return;
    const to = this.#store.get(key)?.state ?? "unknown";
    this.#changed({ driver: driver.id, context, from, to });
  }
}

function keyOf({ id }: Driver, { workspaceId, userId }: CallContext): string {
  return authKey(id, workspaceId, userId);
}

function required(driver: Driver, context: CallContext, why: string): Failure {
  return fail("auth_required", `${driver.id} needs a login: ${why}.${howToLogIn(driver, context)}`, {
    retryable: false,
    cause: loginCause(driver),
  });
}

/** A sentence after others; empty when the driver does not say how. What others leave in the owner's home is not theirs. */
export function howToLogIn({ id, auth }: Driver, { userId = LOCAL_USER }: CallContext): string {
  const { command, url } = auth?.login ?? {};
  if (command === undefined && url === undefined) return "";
  if (userId !== LOCAL_USER) {
    const word = /^[\w.@:/-]+$/.test(userId) ? userId : `'${userId.replaceAll("'", "'\\''")}'`;
    return ` Log in: portolan login ${id} --user ${word}`;
  }
  return ` Log in: portolan login ${id} (or ${command === undefined ? `open ${url}` : `run ${command}`})`;
}

/** How to log in, for a program that shows it to somebody. */
function loginCause({ id, auth }: Driver): { readonly login: readonly object[] } {
  return { login: [{ driver: id, ...(auth?.login === undefined ? {} : { login: auth.login }) }] };
}
