// What a login is made of: the steps that reach out of this program, each by whatever the driver or its code declares.

import { access } from "node:fs/promises";
import type { Driver, HttpExpectation } from "../model/index.ts";
import type { CallContext, DriverHooks, LoginResult, RefreshResult } from "./types.ts";

/** What a login needs of the world; what is absent cannot be done, and says so. */
export interface AuthPorts {
  /** One command line, split into words and run without a shell. */
  readonly run?:
    | ((command: string, options: RunOptions) => Promise<{ readonly exitCode: number | null }>)
    | undefined;
  readonly http?:
    | ((
        request: HttpExpectation,
        signal: AbortSignal,
        driver: Driver,
      ) => Promise<{ readonly status: number }>)
    | undefined;
  /** Shows a page to the user; resolves when it was done there, or when a callback came, whose address it made itself. */
  readonly openUrl?:
    | ((url: string, options: RunOptions & { readonly needsCallback: boolean }) => Promise<LoginResult>)
    | undefined;
  /** Whether a path of the driver's `auth.state` is there, for this caller. */
  readonly exists?:
    | ((path: string, who: Pick<AuthCase, "driver" | "context">) => Promise<boolean>)
    | undefined;
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

/** One driver for one caller. */
export interface AuthCase {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  readonly context: CallContext;
  readonly signal: AbortSignal;
}

const POLL_MS = 1_000;
const CHECK_MS = 15_000;
const NO_WAY = "it cannot be done here:";

export async function runLogin(one: AuthCase, ports: AuthPorts): Promise<LoginResult> {
  const { driver, hooks, context, signal } = one;
  const login = driver.auth?.login;
  if (hooks.login !== undefined) return hooks.login({ driver, context, signal });
  const options: RunOptions = { driver, context, interactive: login?.interactive ?? true, signal };
  if (login?.command !== undefined) {
    if (ports.run === undefined) return noWay("commands cannot be run here");
    const { exitCode } = await ports.run(login.command, options);
    if (exitCode !== 0)
      return { ok: false, reason: "upstream_error", message: `the command ended with ${String(exitCode)}` };
  } else if (login?.url !== undefined) {
    if (ports.openUrl === undefined) return noWay("no page can be shown here");
    const shown = await ports.openUrl(login.url, { ...options, needsCallback: login.requiresCallbackUrl });
    if (!shown.ok) return shown;
  } else return noWay("the driver does not say how to log in");
  return untilCompleted(one, ports);
}

/** The login did not fail: it could not even begin. */
export function isOutOfWays(result: LoginResult): boolean {
  return !result.ok && result.message?.startsWith(NO_WAY) === true;
}

/** Until the driver's own sign says that it is done; without a sign, the login itself was it. */
async function untilCompleted(one: AuthCase, ports: AuthPorts): Promise<LoginResult> {
  if (one.driver.auth?.login?.completesWhen === undefined) return { ok: true };
  for (;;) {
    if (await isLoggedIn(one, ports)) return { ok: true };
    if (one.signal.aborted)
      return { ok: false, reason: "callback_failed", message: "it was not completed in time" };
    await new Promise((resolve) => setTimeout(resolve, ports.pollMs ?? POLL_MS));
  }
}

/** Whether somebody is logged in, as far as that can be seen without logging in. */
export async function isLoggedIn(one: AuthCase, ports: AuthPorts): Promise<boolean> {
  const { driver, hooks, context } = one;
  const { login, state } = driver.auth ?? {};
  const when = login?.completesWhen;
  const signal = AbortSignal.any([one.signal, AbortSignal.timeout(CHECK_MS)]);
  try {
    if (when?.command !== undefined && ports.run !== undefined) {
      const { exitCode } = await ports.run(when.command, { driver, context, interactive: false, signal });
      return exitCode === (when.exitCode ?? 0);
    }
    if (when?.http !== undefined && ports.http !== undefined) {
      const { status } = await ports.http(when.http, signal, driver);
      return when.http.expectStatus === undefined ? isGood(status) : status === when.http.expectStatus;
    }
    if (state !== undefined && state.paths.length > 0) {
      const exists = ports.exists ?? isThere;
      const found = await Promise.all(state.paths.map((path) => exists(path, { driver, context })));
      return found.every(Boolean);
    }
  } catch {
    // What cannot be looked at is not seen to be there.
    return false;
  }
  // Nothing but refreshing is declared: what is refreshed was there before.
  return login === undefined && hooks.login === undefined;
}

/** Whether it shows from outside that somebody has logged in. */
export function showsLogin({ auth }: Driver): boolean {
  const { login, state } = auth ?? {};
  const { command, http } = login?.completesWhen ?? {};
  return command !== undefined || http !== undefined || (state?.paths.length ?? 0) > 0;
}

export function canRefresh({ auth }: Driver, hooks: DriverHooks): boolean {
  return (
    hooks.refresh !== undefined || auth?.refresh?.command !== undefined || auth?.refresh?.url !== undefined
  );
}

export async function runRefresh(one: AuthCase, ports: AuthPorts): Promise<RefreshResult> {
  const { driver, hooks, context, signal } = one;
  const refresh = driver.auth?.refresh;
  const done = (ok: boolean): RefreshResult => (ok ? { ok } : { ok, reason: "upstream_error" });
  try {
    if (hooks.refresh !== undefined) return await hooks.refresh({ driver, context, signal });
    if (refresh?.command !== undefined && ports.run !== undefined) {
      const ran = await ports.run(refresh.command, { driver, context, interactive: false, signal });
      return done(ran.exitCode === 0);
    }
    if (refresh?.url !== undefined && ports.http !== undefined)
      return done(isGood((await ports.http({ method: "POST", url: refresh.url }, signal, driver)).status));
  } catch {
    // A refresh that failed is one that has not happened.
  }
  return done(false);
}

export function noWay(message: string): LoginResult {
  return { ok: false, reason: "callback_failed", message: `${NO_WAY} ${message}` };
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
