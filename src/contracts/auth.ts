// Logins of drivers: unknown, unauthed, logging-in, authed, expired; one for each driver, workspace and user.

import type { Driver } from "../model/index.ts";
import {
  type AuthCase,
  type AuthPorts,
  canRefresh,
  isLoggedIn,
  isOutOfWays,
  runLogin,
  runRefresh,
} from "./auth-steps.ts";
import { authKey, type AuthRecord, type AuthStore } from "./auth-store.ts";
import type { AuthState } from "./capability.ts";
import { isExpired, signsOf } from "./expiry.ts";
import { fail, type Failure } from "./failure.ts";
import type { CallContext, DriverHooks, LoginResult } from "./types.ts";

export type AuthOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure };

export interface AuthTransition {
  readonly driver: string;
  readonly context: CallContext;
  readonly from: AuthState;
  readonly to: AuthState;
}

const OK: AuthOutcome = { ok: true };
const LOGIN_MS = 300_000;

export class AuthMachine {
  readonly #store: AuthStore;
  readonly #ports: AuthPorts;
  readonly #changed: (transition: AuthTransition) => void;
  /** Logins, checks and refreshes under way: whoever needs the same one waits for it. */
  readonly #running = new Map<string, Promise<AuthOutcome>>();

  constructor(store: AuthStore, ports: AuthPorts, changed: (transition: AuthTransition) => void) {
    this.#store = store;
    this.#ports = ports;
    this.#changed = changed;
  }

  /** Whether there is a login to speak of; a driver without one is always ready. */
  concerns({ auth }: Driver, hooks: DriverHooks): boolean {
    return (
      hooks.login !== undefined ||
      hooks.refresh !== undefined ||
      auth?.login !== undefined ||
      auth?.refresh !== undefined ||
      (auth?.state?.paths.length ?? 0) > 0
    );
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
    if (this.#isFresh(this.#store.get(key))) return OK;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const limit = AbortSignal.timeout(this.#ports.loginTimeoutMs ?? LOGIN_MS);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    const work = this.#settle({ driver, hooks, context, signal }).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    return work;
  }

  /** A failure that is the driver's sign of an expired login becomes `auth_required`. */
  noticed(driver: Driver, hooks: DriverHooks, context: CallContext, failure: Failure): Failure {
    const signs = signsOf(failure);
    const expired = hooks.detectExpiry?.(signs) ?? isExpired(driver.auth?.expiryDetect, signs);
    const denied = failure.error.code === "auth_required" && this.concerns(driver, hooks);
    if (!expired && !denied) return failure;
    void this.#set({ driver, context }, "expired").catch(() => {});
    return fail("auth_required", `${driver.id}: the login has expired: ${failure.error.message}`, {
      retryable: false,
      cause: loginCause(driver),
    });
  }

  async #settle(one: AuthCase): Promise<AuthOutcome> {
    const { driver, hooks, context } = one;
    const key = keyOf(driver, context);
    // Somebody may have logged in with another program since.
    if (this.#store.get(key)?.state !== "authed") await this.#store.reload();
    const known = this.#store.get(key);
    let state = known?.state ?? "unknown";
    if (this.#isFresh(known)) return OK;
    if ((state === "authed" || state === "expired") && canRefresh(driver, hooks)) {
      const refreshed = await runRefresh(one, this.#ports);
      const next = refreshed.ok
        ? (refreshed.nextRefreshAt?.getTime() ?? this.#nextRefresh(driver))
        : undefined;
      await this.#set(one, refreshed.ok ? "authed" : "unauthed", next);
      if (refreshed.ok) return OK;
      state = "unauthed";
    } else if (state === "unknown" && (await isLoggedIn(one, this.#ports))) {
      await this.#set(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    if (context.interactive === true) return this.#login(one);
    if (state !== "unauthed") await this.#set(one, "unauthed");
    return { ok: false, failure: required(driver, "nobody is logged in") };
  }

  async #login(one: AuthCase): Promise<AuthOutcome> {
    const { driver, signal } = one;
    await this.#set(one, "logging-in");
    let result: LoginResult;
    try {
      result = await runLogin(one, this.#ports);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      result = { ok: false, reason: "upstream_error", message };
    }
    if (result.ok) {
      await this.#set(one, "authed", this.#nextRefresh(driver));
      return OK;
    }
    await this.#set(one, "unauthed");
    const why = result.message ?? result.reason.replaceAll("_", " ");
    const failure =
      isOutOfWays(result) || signal.aborted
        ? required(driver, why)
        : fail("auth_failed", `${driver.id}: the login failed: ${why}`, { retryable: false });
    return { ok: false, failure };
  }

  async #set(
    { driver, context }: Pick<AuthCase, "driver" | "context">,
    to: AuthState,
    nextRefreshAt?: number,
  ): Promise<void> {
    const key = keyOf(driver, context);
    const from = this.#store.get(key)?.state ?? "unknown";
    const next = nextRefreshAt === undefined ? {} : { nextRefreshAt };
    const saved = this.#store.set(key, { state: to, since: this.#now(), ...next });
    if (from !== to) this.#changed({ driver: driver.id, context, from, to });
    await saved;
  }

  #isFresh(record: AuthRecord | undefined): boolean {
    if (record?.state !== "authed") return false;
    return record.nextRefreshAt === undefined || this.#now() < record.nextRefreshAt;
  }

  #nextRefresh({ auth }: Driver): number | undefined {
    const every = auth?.refresh?.everyMs;
    return every === undefined ? undefined : this.#now() + every;
  }

  #now(): number {
    return this.#ports.now?.() ?? Date.now();
  }
}

function keyOf({ id }: Driver, { workspaceId, userId }: CallContext): string {
  return authKey(id, workspaceId, userId);
}

function required(driver: Driver, why: string): Failure {
  const { command, url } = driver.auth?.login ?? {};
  const how =
    command !== undefined ? ` Log in with: ${command}` : url !== undefined ? ` Log in at ${url}` : "";
  return fail("auth_required", `${driver.id} needs a login: ${why}.${how}`, {
    retryable: false,
    cause: loginCause(driver),
  });
}

/** How to log in, for a program that shows it to somebody. */
function loginCause({ id, auth }: Driver): { readonly login: readonly object[] } {
  return { login: [{ driver: id, ...(auth?.login === undefined ? {} : { login: auth.login }) }] };
}
