// Logins of drivers: unknown, unauthed, logging-in, authed, expired; one for each driver, workspace and user.

import { access } from "node:fs/promises";
import type { Driver, DriverAuth, HttpExpectation } from "../model/index.ts";
import { authKey, type AuthStore } from "./auth-store.ts";
import type { AuthState } from "./capability.ts";
import { isExpired, signsOf } from "./expiry.ts";
import { fail, type Failure } from "./failure.ts";
import type { CallContext, DriverHooks, LoginResult, RefreshResult } from "./types.ts";

/** What a login needs of the world; what is absent cannot be done, and says so. */
export interface AuthPorts {
  /** One command line, split into words and run without a shell. */
  readonly run?:
    | ((command: string, options: RunOptions) => Promise<{ readonly exitCode: number | null }>)
    | undefined;
  readonly http?:
    | ((request: HttpExpectation, signal: AbortSignal) => Promise<{ readonly status: number }>)
    | undefined;
  /** Shows a page to the user; resolves when it was done there, or when a callback came, whose address it made itself. */
  readonly openUrl?:
    | ((url: string, options: RunOptions & { readonly needsCallback: boolean }) => Promise<LoginResult>)
    | undefined;
  readonly exists?: ((path: string) => Promise<boolean>) | undefined;
  readonly now?: (() => number) | undefined;
  /** How often a login that runs elsewhere is looked after. */
  readonly pollMs?: number | undefined;
  readonly loginTimeoutMs?: number | undefined;
}

export interface RunOptions {
  readonly driver: Driver;
  readonly context: CallContext;
  /** Somebody sits before it. */
  readonly interactive: boolean;
  readonly signal: AbortSignal;
}

export type AuthOutcome = { readonly ok: true } | { readonly ok: false; readonly failure: Failure };

export interface AuthTransition {
  readonly driver: string;
  readonly context: CallContext;
  readonly from: AuthState;
  readonly to: AuthState;
}

const OK: AuthOutcome = { ok: true };
const POLL_MS = 1_000;
const LOGIN_MS = 300_000;
const CHECK_MS = 15_000;

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
    return this.#store.get(this.#key(driver, context))?.state ?? "unknown";
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
    signal: AbortSignal | undefined,
  ): Promise<AuthOutcome> {
    const key = this.#key(driver, context);
    const record = this.#store.get(key);
    const due = record?.nextRefreshAt !== undefined && this.#now() >= record.nextRefreshAt;
    if (record?.state === "authed" && !due) return OK;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const work = this.#settle(driver, hooks, context, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    return work;
  }

  /** A failure that is the driver's sign of an expired login becomes `auth_required`. */
  noticed(driver: Driver, hooks: DriverHooks, context: CallContext, failure: Failure): Failure {
    const signs = signsOf(failure);
    const expired = hooks.detectExpiry?.(signs) ?? isExpired(driver.auth?.expiryDetect, signs);
    const denied = failure.error.code === "auth_required" && this.concerns(driver, hooks);
    if (!expired && !denied) return failure;
    void this.#set(driver, context, "expired").catch(() => {});
    const { error } = failure;
    return fail("auth_required", `${driver.id}: the login has expired: ${error.message}`, {
      retryable: false,
      cause: { login: driver.auth?.login, error: error.cause ?? error.message },
    });
  }

  /** Forgets a login, such as when a user logs out. */
  async forget(driver: Driver, context: CallContext): Promise<void> {
    await this.#set(driver, context, "unauthed");
  }

  async #settle(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    outer: AbortSignal | undefined,
  ): Promise<AuthOutcome> {
    const limit = AbortSignal.timeout(this.#ports.loginTimeoutMs ?? LOGIN_MS);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    const key = this.#key(driver, context);
    if (this.#store.get(key)?.state !== "authed") await this.#store.reload();
    const known = this.#store.get(key);
    let state = known?.state ?? "unknown";
    const due = known?.nextRefreshAt !== undefined && this.#now() >= known.nextRefreshAt;
    if (state === "authed" && !due) return OK;
    if ((state === "authed" || state === "expired") && canRefresh(driver, hooks)) {
      if (await this.#refresh(driver, hooks, context, signal)) return OK;
      state = "unauthed";
    } else if (state === "unknown" && (await this.#check(driver, hooks, context, signal))) {
      await this.#set(driver, context, "authed", this.#nextRefresh(driver));
      return OK;
    }
    if (context.interactive !== true) {
      if (state !== "unauthed") await this.#set(driver, context, "unauthed");
      return { ok: false, failure: required(driver, "nobody is logged in") };
    }
    return this.#login(driver, hooks, context, signal);
  }

  async #login(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    signal: AbortSignal,
  ): Promise<AuthOutcome> {
    await this.#set(driver, context, "logging-in");
    let result: LoginResult;
    try {
      result = await this.#runLogin(driver, hooks, context, signal);
    } catch (error) {
      result = { ok: false, reason: "upstream_error", message: messageOf(error) };
    }
    if (result.ok) {
      await this.#set(driver, context, "authed", this.#nextRefresh(driver));
      return OK;
    }
    await this.#set(driver, context, "unauthed");
    const why = result.message ?? result.reason.replaceAll("_", " ");
    const failure =
      outOfWays(result) || signal.aborted
        ? required(driver, why)
        : fail("auth_failed", `${driver.id}: the login failed: ${why}`, { retryable: false });
    return { ok: false, failure };
  }

  async #runLogin(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    signal: AbortSignal,
  ): Promise<LoginResult> {
    const login = driver.auth?.login;
    if (hooks.login !== undefined) return hooks.login({ driver, context, signal });
    const options: RunOptions = { driver, context, interactive: login?.interactive ?? true, signal };
    if (login?.command !== undefined) {
      if (this.#ports.run === undefined) return noWay("commands cannot be run here");
      const { exitCode } = await this.#ports.run(login.command, options);
      if (exitCode !== 0)
        return { ok: false, reason: "upstream_error", message: `the command ended with ${String(exitCode)}` };
    } else if (login?.url !== undefined) {
      if (this.#ports.openUrl === undefined) return noWay("no page can be shown here");
      const shown = await this.#ports.openUrl(login.url, {
        ...options,
        needsCallback: login.requiresCallbackUrl,
      });
      if (!shown.ok) return shown;
    } else return noWay("the driver does not say how to log in");
    return this.#completed(driver, hooks, context, signal);
  }

  /** Until the driver's own sign says that it is done; without a sign, the login itself was it. */
  async #completed(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    signal: AbortSignal,
  ): Promise<LoginResult> {
    if (driver.auth?.login?.completesWhen === undefined) return { ok: true };
    for (;;) {
      if (await this.#check(driver, hooks, context, signal)) return { ok: true };
      if (signal.aborted)
        return { ok: false, reason: "callback_failed", message: "it was not completed in time" };
      await new Promise((resolve) => setTimeout(resolve, this.#ports.pollMs ?? POLL_MS));
    }
  }

  /** Whether somebody is logged in, as far as that can be seen without logging in. */
  async #check(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { login, state } = driver.auth ?? {};
    const when = login?.completesWhen;
    const within = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
    try {
      if (when?.command !== undefined && this.#ports.run !== undefined) {
        const options = { driver, context, interactive: false, signal: within };
        const { exitCode } = await this.#ports.run(when.command, options);
        return exitCode === (when.exitCode ?? 0);
      }
      if (when?.http !== undefined && this.#ports.http !== undefined) {
        const { status } = await this.#ports.http(when.http, within);
        return when.http.expectStatus === undefined
          ? status >= 200 && status < 300
          : status === when.http.expectStatus;
      }
      if (state !== undefined && state.paths.length > 0) {
        const exists = this.#ports.exists ?? isThere;
        return (await Promise.all(state.paths.map(exists))).every(Boolean);
      }
    } catch {
      // What cannot be looked at is not seen to be there.
      return false;
    }
    // Nothing but refreshing is declared: what is refreshed was there before.
    return login === undefined && hooks.login === undefined;
  }

  async #refresh(
    driver: Driver,
    hooks: DriverHooks,
    context: CallContext,
    signal: AbortSignal,
  ): Promise<boolean> {
    const refresh = driver.auth?.refresh;
    let result: RefreshResult = { ok: false, reason: "upstream_error" };
    try {
      if (hooks.refresh !== undefined) result = await hooks.refresh({ driver, context, signal });
      else if (refresh?.command !== undefined && this.#ports.run !== undefined) {
        const options = { driver, context, interactive: false, signal };
        result = { ok: (await this.#ports.run(refresh.command, options)).exitCode === 0 } as RefreshResult;
      } else if (refresh?.url !== undefined && this.#ports.http !== undefined) {
        const { status } = await this.#ports.http({ method: "POST", url: refresh.url }, signal);
        result = { ok: status >= 200 && status < 300 } as RefreshResult;
      }
    } catch {
      // A refresh that failed is one that has not happened.
    }
    if (!result.ok) {
      await this.#set(driver, context, "unauthed");
      return false;
    }
    await this.#set(driver, context, "authed", result.nextRefreshAt?.getTime() ?? this.#nextRefresh(driver));
    return true;
  }

  async #set(driver: Driver, context: CallContext, to: AuthState, nextRefreshAt?: number): Promise<void> {
    const key = this.#key(driver, context);
    const from = this.#store.get(key)?.state ?? "unknown";
    const saved = this.#store.set(key, {
      state: to,
      since: this.#now(),
      ...(nextRefreshAt === undefined ? {} : { nextRefreshAt }),
    });
    if (from !== to) this.#changed({ driver: driver.id, context, from, to });
    await saved;
  }

  #nextRefresh({ auth }: Driver): number | undefined {
    const every = auth?.refresh?.everyMs;
    return every === undefined ? undefined : this.#now() + every;
  }

  #key(driver: Driver, { workspaceId, userId }: CallContext): string {
    return authKey(driver.id, workspaceId, userId);
  }

  #now(): number {
    return this.#ports.now?.() ?? Date.now();
  }
}

function canRefresh({ auth }: Driver, hooks: DriverHooks): boolean {
  return (
    hooks.refresh !== undefined || auth?.refresh?.command !== undefined || auth?.refresh?.url !== undefined
  );
}

function required(driver: Driver, why: string): Failure {
  const login: DriverAuth["login"] = driver.auth?.login;
  const how =
    login?.command !== undefined
      ? ` Log in with: ${login.command}`
      : login?.url !== undefined
        ? ` Log in at ${login.url}`
        : "";
  return fail("auth_required", `${driver.id} needs a login: ${why}.${how}`, {
    retryable: false,
    cause: { login },
  });
}

const NO_WAY = "no way:";

function noWay(message: string): LoginResult {
  return { ok: false, reason: "callback_failed", message: `${NO_WAY} ${message}` };
}

/** The login did not fail: it could not even begin. */
function outOfWays(result: LoginResult): boolean {
  return !result.ok && result.message?.startsWith(NO_WAY) === true;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
