// Steps of a login outside of this program: commands, pages, checks and refreshes, as the driver or its hooks declare them.

import { access } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { Driver, DriverAuth, HttpExpectation } from "../../model/index.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { DriverHooks, LoginResult, RefreshResult } from "../driver/bound-tool.ts";

export interface RunResult {
  readonly exitCode: number | null;
  /** The end of its stderr, or else of its stdout, without secrets. */
  readonly said?: string;
}

/** Functions that a login needs from the host. A step whose function is absent fails with a reason. */
export interface AuthPorts {
  /** Runs one command line, split into words, without a shell. */
  readonly run?: (command: string, options: RunOptions) => Promise<RunResult>;
  readonly http?:
    | ((
        request: HttpExpectation,
        signal: AbortSignal,
        driver: Driver,
      ) => Promise<{ readonly status: number }>)
    | undefined;
  /** Shows a page to the user; resolves when the user is done, or when the callback arrived whose URL it provided. */
  readonly openUrl?:
    | ((url: string, options: RunOptions & { readonly needsCallback: boolean }) => Promise<PageResult>)
    | undefined;
  /** True when a path of the driver's `auth.state` exists for this caller. */
  readonly exists?:
    | ((path: string, who: Pick<AuthCase, "driver" | "context">) => Promise<boolean>)
    | undefined;
  /** Shows progress to the user who logs in. */
  readonly say?: (text: string) => void;
  readonly now?: () => number;
  /** How often the sign of a completed login is checked. */
  readonly pollMs?: number;
  readonly loginTimeoutMs?: number;
  /** How long the sign of a completed login may come after the end of its command. */
  readonly lagMs?: number;
}

/** The outcome of a page. `callback` is the address that it returned to, with its parameters: it may hold a code. */
export type PageResult =
  | { readonly ok: true; readonly callback?: URL }
  | Extract<LoginResult, { readonly ok: false }>;

export interface RunOptions {
  readonly driver: Driver;
  readonly context: CallContext;
  /** A user can answer the command. */
  readonly interactive: boolean;
  readonly signal: AbortSignal;
  /** Written to the standard input of a command, which other users cannot see, unlike its arguments and environment. */
  readonly input?: string;
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
const LAG_MS = 10_000;
const NOT_POSSIBLE = "the login is not possible here:";

export async function runLogin(one: AuthCase, ports: AuthPorts): Promise<LoginResult> {
  const { driver, hooks, context, signal } = one;
  const login = driver.auth?.login;
  const options: RunOptions = { driver, context, interactive: login?.interactive ?? true, signal };
  if (hooks.login !== undefined)
    return hooks.login({ driver, context, signal, showPage: (url) => showPage(url, options, ports) });
  const { command, url } = login ?? {};
  if (command === undefined && url === undefined)
    return notPossible("the driver declares no login command or page (auth.login)");
  // The command of a page with a callback gets what the page returned, such as a code. Otherwise the command is the whole login.
  const needsCallback = login?.requiresCallbackUrl === true;
  let callback: URL | undefined;
  if (url !== undefined && (command === undefined || needsCallback)) {
    if (ports.openUrl === undefined)
      return notPossible("the login needs a browser, and this process cannot open one");
    const shown = await ports.openUrl(url, { ...options, needsCallback });
    if (!shown.ok) return shown;
    callback = shown.callback;
  }
  if (command !== undefined) {
    if (ports.run === undefined) return notPossible("this process cannot run the login command");
    const input = callback && `${callback.href}\n`;
    const { exitCode } = await ports.run(
      command,
      callback ? { ...options, input, interactive: false } : options,
    );
    if (exitCode !== 0)
      return {
        ok: false,
        reason: "upstream_error",
        message: `the login command exited with code ${String(exitCode)}`,
      };
  }
  return untilCompleted(one, ports);
}

async function showPage(url: string, options: RunOptions, ports: AuthPorts): Promise<URL> {
  const { id: server } = options.driver;
  if (ports.openUrl === undefined)
    throw new PortolanError(
      "AUTH_REQUIRED",
      `the login of ${server} needs a browser, and this process cannot open one`,
      { server, hint: `Log in from a terminal: portolan login ${server}` },
    );
  const shown = await ports.openUrl(url, { ...options, needsCallback: true });
  if (shown.ok && shown.callback !== undefined) return shown.callback;
  const why = shown.ok
    ? "the page did not redirect back"
    : (shown.message ?? shown.reason.replaceAll("_", " "));
  throw new PortolanError("AUTH_FAILED", `the login page failed: ${why}`, { server });
}

const CANNOT_CHECK = "Portolan cannot check whether";

/** True for the message of a login whose check in `completes_when` could not run. */
export function isCheckProblem(message: string): boolean {
  return message.includes(CANNOT_CHECK);
}

/** True when the login could not even begin. */
export function isNotPossible(result: LoginResult): boolean {
  return !result.ok && result.message?.startsWith(NOT_POSSIBLE) === true;
}

/**
 * Waits for the sign that the driver declares; without one, the login is complete. A page may take its time, but a command that has
 * ended does nothing more.
 */
async function untilCompleted(one: AuthCase, ports: AuthPorts): Promise<LoginResult> {
  const { login } = one.driver.auth ?? {};
  if (login?.completesWhen === undefined) return { ok: true };
  const sign = signOf(login.completesWhen, one.driver);
  const lag = login.command === undefined ? Infinity : (ports.lagMs ?? LAG_MS);
  const ends = performance.now() + lag;
  const failed = (message: string): LoginResult => ({ ok: false, reason: "callback_failed", message });
  for (let isShown = false; ; isShown = true) {
    try {
      if (await hasLoginSign(one, ports)) return { ok: true };
    } catch (error) {
      // A check that fails now fails later too; only one that was too slow may be faster the next time.
      if (login.completesWhen.command !== undefined && !isLate(error))
        return failed(`${CANNOT_CHECK} ${sign}: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (one.signal.aborted)
      return failed(`the login was cancelled or timed out before it was complete (expected: ${sign})`);
    if (performance.now() >= ends)
      return failed(`the login command has ended, but the login is not complete (expected: ${sign})`);
    if (!isShown) ports.say?.(`${one.driver.id}: waiting until ${sign}.`);
    await sleep(ports.pollMs ?? POLL_MS, undefined, { signal: one.signal }).catch(() => {});
  }
}

/** The sign as a part of a sentence. */
function signOf(
  { command, exitCode, http }: NonNullable<NonNullable<DriverAuth["login"]>["completesWhen"]>,
  { auth }: Driver,
): string {
  if (command !== undefined) return `"${command}" exits with code ${exitCode ?? 0}`;
  if (http !== undefined) return `${http.method} ${http.url} returns status ${http.expectStatus ?? "2xx"}`;
  const paths = auth?.state?.paths ?? [];
  return paths.length === 0
    ? "the login is complete"
    : `${paths.join(" and ")} exist${paths.length === 1 ? "s" : ""}`;
}

function isLate(error: unknown): boolean {
  if (isPortolanError(error)) return error.code === "TIMEOUT" || error.code === "CANCELLED";
  return error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
}

/** True when a user is logged in, as far as this shows without a login. */
export async function isLoggedIn(one: AuthCase, ports: AuthPorts): Promise<boolean> {
  // A check that fails shows no login.
  return hasLoginSign(one, ports).catch(() => false);
}

async function hasLoginSign(one: AuthCase, ports: AuthPorts): Promise<boolean> {
  const { driver, hooks, context } = one;
  const { login, state } = driver.auth ?? {};
  const when = login?.completesWhen;
  const signal = AbortSignal.any([one.signal, AbortSignal.timeout(CHECK_MS)]);
  if (when?.command !== undefined && ports.run !== undefined) {
    const { exitCode } = await ports.run(when.command, { driver, context, interactive: false, signal });
    return exitCode === (when.exitCode ?? 0);
  }
  if (when?.http !== undefined && ports.http !== undefined) {
    const { status } = await ports.http(when.http, signal, driver);
    return when.http.expectStatus === undefined ? isSuccess(status) : status === when.http.expectStatus;
  }
  if (state !== undefined && state.paths.length > 0) {
    const exists = ports.exists ?? pathExists;
    const found = await Promise.all(state.paths.map((path) => exists(path, { driver, context })));
    return found.every(Boolean);
  }
  // Only a refresh is declared, so that the login happened before.
  return login === undefined && hooks.login === undefined;
}

/** True when the driver declares a sign of a completed login. */
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
      return done(isSuccess((await ports.http({ method: "POST", url: refresh.url }, signal, driver)).status));
  } catch {
    // An error is a failed refresh.
  }
  return done(false);
}

export function notPossible(message: string): LoginResult {
  return { ok: false, reason: "callback_failed", message: `${NOT_POSSIBLE} ${message}` };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

async function pathExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
