// Verification of one process of a driver's server, as a pure reducer: do its tools match the bindings of the DRIVER.md?
//
//   unverified --acquired--> verifying --match-----> verified --lists changed--> verifying
//                               |------mismatch--> refused --server ended--> refused, paused --pause over--> retryDue
//                               |------failed----> unavailable --pause over--> retryDue
//   verified --session lost--> retryDue --acquired--> verifying
//   any --start failed--> unavailable       any --server gave up--> unavailable

import { backoffMs } from "../../base/time/retry.ts";
import { isPortolanError } from "../../errors/index.ts";
import type { DriverErrorCode } from "../../model/index.ts";
import type { Failure } from "../dispatch/failure.ts";

/** Why a server could not be started or compared. */
export interface ServerFault {
  readonly reason: string;
  readonly code: DriverErrorCode;
  /** Only another config or another program changes it, such as a wrong version. */
  readonly isFinal: boolean;
  /**
   * `server`: the server does not work. `caller`: the caller left or lacks a right, which says nothing about the server. `unknown`: it
   * counts unless the server has worked before, since a working server may be slow once.
   */
  readonly blame: "server" | "caller" | "unknown";
}

/** The states that last. Routing reads only these. */
export type SettledState =
  | { readonly kind: "unverified" }
  /** `isCurrent`: the server runs, and its lists have not changed since they were compared. */
  | { readonly kind: "verified"; readonly isCurrent: boolean }
  /**
   * `isPaused`: the refused server has ended. Another process is tried after a pause. `hasNoCode`: the driver is refused
   * because its code did not run.
   */
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly isPaused: boolean;
      readonly hasNoCode?: boolean;
    }
  /** Not tried again until a pause is over. */
  | { readonly kind: "unavailable"; readonly fault: ServerFault }
  /** The server failed, and may be tried again: in the background, or by a call that no other driver can serve. */
  | { readonly kind: "retryDue"; readonly fault: ServerFault };

export type VerificationState =
  | SettledState
  /** `before` is what routing reads until the comparison ends. */
  | { readonly kind: "verifying"; readonly before: SettledState; readonly comparison: number };

export interface Verification {
  readonly state: VerificationState;
  /** Failures in a row; each makes the pause longer. */
  readonly failures: number;
  /** Number of comparisons that were begun. The result of an earlier one is stale. */
  readonly comparisons: number;
  /** The server that runs now was compared at least once, so that it has started. */
  readonly isKnown: boolean;
}

export type VerificationEvent =
  /** `isNew`: another process than the last time. */
  | { readonly type: "acquired"; readonly isNew: boolean }
  | { readonly type: "listsChanged" }
  /** `mismatch` says how the server differs from its bindings. */
  | {
      readonly type: "compared";
      readonly comparison: number;
      readonly mismatch: string | undefined;
      readonly isRunning: boolean;
    }
  | { readonly type: "comparisonFailed"; readonly comparison: number; readonly fault: ServerFault }
  | { readonly type: "startFailed"; readonly fault: ServerFault }
  /** The server restarts by itself. */
  | { readonly type: "sessionLost"; readonly fault: ServerFault }
  /** The server gave up restarting. */
  | { readonly type: "serverFailed"; readonly fault: ServerFault }
  /** `isGone`: it does not come back. */
  | { readonly type: "serverEnded"; readonly isGone: boolean }
  | { readonly type: "pauseOver" }
  /** A verification in the background has ended without a result. */
  | { readonly type: "recheckEnded" };

export type VerificationEffect =
  | { readonly type: "compare"; readonly comparison: number }
  | { readonly type: "pause"; readonly ms: number }
  /** The events of this server are not of interest any more. */
  | { readonly type: "detach" };

export type VerificationStep = readonly [Verification, readonly VerificationEffect[]];

/** Why a driver is not verified while its server starts for the first time. */
export const STILL_STARTING = "its server is still being installed or verified";

export const UNVERIFIED: SettledState = { kind: "unverified" };
export const NEW_VERIFICATION: Verification = {
  state: UNVERIFIED,
  failures: 0,
  comparisons: 0,
  isKnown: false,
};

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
/** Looking up a secret again costs little. */
const MAX_SECRET_PAUSE_MS = 4_000;

const NONE: readonly VerificationEffect[] = [];
const DETACH: VerificationEffect = { type: "detach" };

export function reduceVerification(one: Verification, event: VerificationEvent): VerificationStep {
  const { state } = one;
  switch (event.type) {
    case "acquired":
      if (event.isNew) return compare({ ...one, isKnown: false });
      return needsComparison(state) ? compare(one) : [one, NONE];
    case "listsChanged":
      return compare(one);
    case "compared":
      if (state.kind !== "verifying" || state.comparison !== event.comparison) return [one, NONE];
      return compared(one, event.mismatch, event.isRunning);
    case "comparisonFailed":
      if (state.kind !== "verifying" || state.comparison !== event.comparison) return [one, NONE];
      return comparisonFailed({ ...one, state: state.before }, event.fault);
    case "startFailed":
      return event.fault.blame === "caller" ? [one, NONE] : failed(one, event.fault);
    case "sessionLost":
      return [settle(one, { kind: "retryDue", fault: event.fault }), NONE];
    case "serverFailed": {
      const [next, effects] = pause({ ...one, state: UNVERIFIED }, unavailable(event.fault));
      return [{ ...next, isKnown: false }, [...effects, DETACH]];
    }
    case "serverEnded": {
      const [next, effects] = ended(one);
      return event.isGone ? [{ ...next, isKnown: false }, [...effects, DETACH]] : [next, effects];
    }
    case "pauseOver": {
      const fault = faultAfterPause(settledOf(state));
      return [fault === undefined ? one : settle(one, { kind: "retryDue", fault }), NONE];
    }
    case "recheckEnded":
      return state.kind === "retryDue" ? pause(one, unavailable(state.fault)) : [one, NONE];
  }
}

export function settledOf(state: VerificationState): SettledState {
  return state.kind === "verifying" ? state.before : state;
}

/** True when a timer runs that ends the pause. */
export function isPaused(state: SettledState): boolean {
  return faultAfterPause(state) !== undefined;
}

export function toServerFault({ error: { code, message, cause } }: Failure, driver: string): ServerFault {
  const isBroken = SERVER_FAULTS.has(code);
  const isSpecific = code === "auth_required" || (isBroken && code !== "upstream_error");
  const isOtherPlatform = isPortolanError(cause) && cause.code === "PLATFORM_UNSUPPORTED";
  return {
    // Messages about a driver name it themselves.
    reason: message.startsWith(`${driver}: `) ? message.slice(driver.length + 2) : message,
    code: isSpecific ? (code as DriverErrorCode) : "tool_unavailable",
    isFinal: code === "version_mismatch" || isOtherPlatform,
    blame: isBroken ? "server" : CALLER_FAULTS.has(code) ? "caller" : "unknown",
  };
}

const SERVER_FAULTS: ReadonlySet<string> = new Set([
  "tool_unavailable",
  "install_failed",
  "version_mismatch",
  "upstream_error",
]);
const CALLER_FAULTS: ReadonlySet<string> = new Set(["cancelled", "unauthorised"]);

/** Of the same process as the last time. */
function needsComparison(state: VerificationState): boolean {
  switch (state.kind) {
    case "verified":
      return !state.isCurrent;
    case "refused":
      return state.isPaused;
    case "verifying":
      return false;
    default:
      return true;
  }
}

function compare(one: Verification): VerificationStep {
  const comparison = one.comparisons + 1;
  const state = { kind: "verifying", before: settledOf(one.state), comparison } as const;
  return [{ ...one, state, comparisons: comparison }, [{ type: "compare", comparison }]];
}

function compared(one: Verification, mismatch: string | undefined, isRunning: boolean): VerificationStep {
  const next = { ...one, isKnown: isRunning };
  if (mismatch === undefined)
    return [{ ...next, state: { kind: "verified", isCurrent: isRunning }, failures: 0 }, NONE];
  const refused = { kind: "refused", reason: mismatch, isPaused: false } as const;
  return isRunning
    ? [{ ...next, state: refused }, NONE]
    : pause({ ...next, state: UNVERIFIED }, { ...refused, isPaused: true });
}

/** `one` is as it was before the comparison. */
function comparisonFailed(one: Verification, fault: ServerFault): VerificationStep {
  const counts = one.isKnown ? fault.blame === "server" : fault.blame !== "caller";
  const [next, effects] = counts ? failed(one, fault) : ended(one);
  return one.isKnown ? [next, effects] : [next, [...effects, DETACH]];
}

/** Many callers may wait for one start: its failure counts once. */
function failed(one: Verification, fault: ServerFault): VerificationStep {
  return settledOf(one.state).kind === "unavailable" ? [one, NONE] : pause(one, unavailable(fault));
}

/** The last comparison says nothing about the next process: a match is trusted until then, a mismatch leads to a pause. */
function ended(one: Verification): VerificationStep {
  const settled = settledOf(one.state);
  if (settled.kind === "verified") return [settle(one, { kind: "verified", isCurrent: false }), NONE];
  return settled.kind === "refused" && !settled.isPaused
    ? pause(one, { ...settled, isPaused: true })
    : [one, NONE];
}

function pause(one: Verification, settled: SettledState): VerificationStep {
  const failures = one.failures + 1;
  const next = settle({ ...one, failures }, settled);
  if (!isPaused(settled)) return [next, NONE];
  const isSecret = settled.kind === "unavailable" && settled.fault.code === "auth_required";
  const ms = backoffMs(failures - 1, FIRST_PAUSE_MS, isSecret ? MAX_SECRET_PAUSE_MS : MAX_PAUSE_MS);
  return [next, [{ type: "pause", ms }]];
}

/** A comparison that is under way goes on. */
function settle(one: Verification, settled: SettledState): Verification {
  const { state } = one;
  return { ...one, state: state.kind === "verifying" ? { ...state, before: settled } : settled };
}

function unavailable(fault: ServerFault): SettledState {
  return { kind: "unavailable", fault };
}

function faultAfterPause(state: SettledState): ServerFault | undefined {
  if (state.kind === "refused" && state.isPaused)
    return { reason: state.reason, code: "tool_unavailable", isFinal: false, blame: "server" };
  return state.kind === "unavailable" && !state.fault.isFinal ? state.fault : undefined;
}
