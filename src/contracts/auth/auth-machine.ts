// State machine of logins, one per driver, workspace and user: unknown, unauthed, logging-in, authed, expired.

import { isPortolanError } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import {
  type AuthCase,
  type AuthPorts,
  canRefresh,
  isLoggedIn,
  isNotPossible,
  notPossible,
  runLogin,
  runRefresh,
  showsLogin,
} from "./login-steps.ts";
import { authKey, type AuthRecord, type AuthState, type AuthStore } from "./auth-store.ts";
import { isExpired, signsOf } from "./expiry.ts";
import { fail, Failure } from "../dispatch/failure.ts";
import { hasLogin } from "../driver/process-key.ts";
import { type CallContext, LOCAL_USER } from "../contract/call-context.ts";
import { type DriverHooks, type LoginResult } from "../driver/bound-tool.ts";

/** The outcome of a login to a driver. */
export type AuthOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure };

export interface AuthTransition {
  readonly driver: string;
  readonly context: CallContext;
  readonly from: AuthState;
  readonly to: AuthState;
}

const OK: AuthOutcome = { ok: true };
const LOGIN_MS = 300_000;
/** The file of logins is read again no more often than this. */
const READ_MS = 1_000;
/** The signs of a login, such as files, are checked no more often than this. */
const RECHECK_MS = 3_000;
const MAX_RECHECKS = 10_000;
/** HTTP status codes of requests that the server did not carry out. */
const REFUSED_STATUS: ReadonlySet<number | undefined> = new Set([401, 403]);

export class AuthMachine {
  readonly #store: AuthStore;
  readonly #ports: AuthPorts;
  readonly #changed: (transition: AuthTransition) => void;
  /** Logins, checks and refreshes that run; all callers wait for the same one. */
  readonly #running = new Map<string, Promise<AuthOutcome>>();
  /** Times of the last rechecks. */
  readonly #rechecks = new Map<string, number>();
  #readAt = -Infinity;

  constructor(store: AuthStore, ports: AuthPorts, changed: (transition: AuthTransition) => void) {
    this.#store = store;
    this.#ports = ports;
    this.#changed = changed;
  }

  /** True when the driver has a login. A driver without one is always ready. */
  needsLogin(driver: Driver, hooks: DriverHooks): boolean {
    return hooks.login !== undefined || hooks.refresh !== undefined || hasLogin(driver);
  }

  stateOf(driver: Driver, hooks: DriverHooks, context: CallContext): AuthState {
    if (!this.needsLogin(driver, hooks)) return "authed";
    return this.#store.get(keyOf(driver, context))?.state ?? "unknown";
  }

  /** State for routing: an expired login that can be refreshed does not exclude the driver. */
  routingState(driver: Driver, hooks: DriverHooks, context: CallContext): AuthState {
    const state = this.stateOf(driver, hooks, context);
    return state === "expired" && canRefresh(driver, hooks) ? "unknown" : state;
  }

  /** Makes sure of a fresh login, or returns the reason why not. Only an interactive caller is asked to log in. */
  async ready(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    outer: AbortSignal | undefined,
  ): Promise<AuthOutcome> {
    const key = keyOf(driver, context);
    if (this.#isFresh(this.#store.get(key))) {
      if (performance.now() - this.#readAt < READ_MS) return OK;
      // Another program may have logged out.
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
   * A failure that shows an expired login becomes `auth_required`. `begun` is the time of the call: a login that was renewed
   * since has not expired. `inVain`: the login was just renewed, and does not work.
   */
  detectExpiry(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    failure: Failure,
    { begun = Infinity, inVain = false }: { readonly begun?: number; readonly inVain?: boolean } = {},
  ): Failure {
    const signs = signsOf(failure);
    const expired = hooks.detectExpiry?.(signs) ?? isExpired(driver.auth?.expiryDetect, signs);
    const denied = failure.error.code === "auth_required" && this.needsLogin(driver, hooks);
    if (!expired && !denied) return failure;
    const known = this.#store.get(keyOf(driver, context));
    const renewed = known?.state === "authed" && known.since > begun;
    if (!renewed || inVain) void this.#note({ driver, context }, inVain ? "unauthed" : "expired");
    const what = expired ? "the login has expired" : "the server refused the login";
    const message = `${driver.id}: ${what}: ${failure.error.message}.${howToLogIn(driver, context)}`;
    const cause = loginCause(driver);
    return new Failure(
      { code: "auth_required", message, retryable: false, cause },
      failure.neverSent || REFUSED_STATUS.has(signs.httpStatus),
    );
  }

  /** After a call failed for its login: whether another attempt would begin with a fresh one. */
  canRenew(driver: Driver, hooks: DriverHooks, context: CallContext): boolean {
    const state = this.stateOf(driver, hooks, context);
    return state === "authed" || (state === "expired" && canRefresh(driver, hooks));
  }

  /** True when a user has logged in since, perhaps with another program. Checked before a call is refused. */
  async recheck(driver: Driver, hooks: DriverHooks, context: CallContext): Promise<boolean> {
    const key = keyOf(driver, context);
    await this.#reload(driver, context);
    const known = this.#store.get(key);
    if (known?.state === "authed") return true;
    if (known?.loggedOut === true || !showsLogin(driver)) return false;
    const running = this.#running.get(key);
    if (running !== undefined) return (await running).ok;
    if (performance.now() - (this.#rechecks.get(key) ?? -Infinity) < RECHECK_MS) return false;
    if (this.#rechecks.size >= MAX_RECHECKS) this.#rechecks.clear();
    this.#rechecks.set(key, performance.now());
    const one = { driver, hooks, context, signal: AbortSignal.timeout(LOGIN_MS) };
    if (!(await isLoggedIn(one, this.#ports))) return false;
    await this.#note(one, "authed", this.#nextRefresh(driver));
    return true;
  }

  /** Logged out until the next login, even if files of the earlier one are left. */
  async logout(driver: Driver, context: CallContext): Promise<void> {
    await this.#set({ driver, context }, "unauthed", undefined, true);
  }

  now(): number {
    return this.#ports.now?.() ?? Date.now();
  }

  async #settle(one: AuthCase): Promise<AuthOutcome> {
    const { driver, hooks, context } = one;
    const key = keyOf(driver, context);
    // Another program may have logged in since.
    if (this.#store.get(key)?.state !== "authed") await this.#reload(driver, context);
    const known = this.#store.get(key);
    let state = known?.state ?? "unknown";
    let why = state === "expired" ? "the login has expired" : "the user is not logged in";
    if (this.#isFresh(known)) return OK;
    if ((state === "authed" || state === "expired") && canRefresh(driver, hooks)) {
      const refreshed = await runRefresh(one, this.#ports);
      const next = refreshed.ok
        ? (refreshed.nextRefreshAt?.getTime() ?? this.#nextRefresh(driver))
        : undefined;
      await this.#note(one, refreshed.ok ? "authed" : "unauthed", next);
      if (refreshed.ok) return OK;
      state = "unauthed";
      why = "the login could not be refreshed";
    } else if (state === "unknown" && (await isLoggedIn(one, this.#ports))) {
      await this.#note(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    if (context.interactive === true) return this.#login(one);
    if (state !== "unauthed") await this.#note(one, "unauthed");
    return { ok: false, failure: required(driver, context, why) };
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
      result = cannot ? notPossible(message) : { ok: false, reason: "upstream_error", message };
    }
    if (result.ok) {
      await this.#set(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    await this.#set(one, "unauthed");
    const why = result.message ?? result.reason.replaceAll("_", " ");
    const failure =
      isNotPossible(result) || signal.aborted
        ? required(driver, one.context, why)
        : fail("auth_failed", `${driver.id}: the login failed: ${why}`, { retryable: false });
    return { ok: false, failure };
  }

  /** Without the file, the state lasts as long as this program runs. */
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
    const record = { state: to, since: this.now(), nextRefreshAt, loggedOut: loggedOut || undefined };
    const saved = this.#store.set(key, record);
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

/**
 * A sentence that follows an error; empty when the driver does not say how. Other users log in into a home of their own.
 * A login without Portolan is named only if Portolan notices it: the driver declares a sign, and no callback.
 */
export function howToLogIn(driver: Driver, { userId = LOCAL_USER }: CallContext): string {
  const { id, auth } = driver;
  const { command, url, requiresCallbackUrl } = auth?.login ?? {};
  if (command === undefined && url === undefined) return "";
  if (userId !== LOCAL_USER) {
    const word = /^[\w.@:/-]+$/.test(userId) ? userId : `'${userId.replaceAll("'", "'\\''")}'`;
    return ` Log in: portolan login ${id} --user ${word}`;
  }
  if (requiresCallbackUrl === true || !showsLogin(driver)) return ` Log in: portolan login ${id}`;
  return ` Log in: portolan login ${id} (or ${command === undefined ? `open ${url}` : `run ${command}`})`;
}

/** How to log in, for programs that show it to a user. */
function loginCause({ id, auth }: Driver): { readonly login: readonly object[] } {
  return { login: [{ driver: id, login: auth?.login }] };
}
