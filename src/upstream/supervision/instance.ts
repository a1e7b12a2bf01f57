// Lifecycle of one instance of a server, one process or session at a time, as a pure reducer.
//
//   idle --call--> starting: opening, or delayed --> ready --idle timer--> idle
//     blocked <--blocking error--+     ^                     |
//     failed  <--start failed----+     +--- crash 1 to 4 ----+--- crash 5 in a minute --> failed
//     failed, blocked --call after retryAt, timer, recheck--> starting
//     ready --unreachable--> ready with a fault --reachable--> ready
//     any --drain--> draining --last call or deadline--> stopped          any --stop--> stopped

import { backoffMs } from "../../base/time/retry.ts";
import type { PortolanError } from "../../errors/index.ts";
import type { UpstreamState } from "../upstream.ts";

/** An error that makes an instance unusable. A blocking fault does not go away by trying again soon. */
export interface Fault {
  readonly kind: "transient" | "blocking";
  readonly error: PortolanError;
}

export type StartReason = "first" | "restart" | "retry";

export type InstanceState =
  | { readonly kind: "idle" }
  | {
      readonly kind: "starting";
      /** `delayed`: a timer runs until the next attempt. */
      readonly phase: "delayed" | "opening";
      readonly why: StartReason;
      readonly session: number;
      readonly retriesLeft: number;
    }
  /** With a fault: the server of the open session does not answer now. */
  | { readonly kind: "ready"; readonly session: number; readonly fault?: Fault }
  | { readonly kind: "failed" | "blocked"; readonly fault: Fault; readonly retryAt: number }
  | { readonly kind: "draining"; readonly session: number }
  | { readonly kind: "stopped" };

export interface Instance {
  readonly state: InstanceState;
  /** Number of sessions that were opened. The result of an earlier open is stale. */
  readonly sessions: number;
  /** Failed starts in a row. */
  readonly failures: number;
  /** Times of the losses within the last minute. */
  readonly crashes: readonly number[];
}

/** The settings in which servers of different kinds differ. */
export interface Policy {
  /** False: the instance stops when its session is lost, as a dedicated process does. */
  readonly restarts: boolean;
  /** True for eager servers: a timer retries a failed start, and probes an unreachable server. False: the next call does. */
  readonly keepsTrying: boolean;
  /** How often a failed start is repeated while callers wait. */
  readonly startRetries: number;
  /** Undefined means that the instance is never stopped when idle. */
  readonly idleMs: number | undefined;
  readonly drainMs: number;
}

/** Facts that the runner knows when the event happens. */
export interface Facts {
  readonly now: number;
  /** From 0.8 to 1.2. */
  readonly jitter: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly subscriptions: number;
  readonly lastUsedAt: number;
}

export type Timer = "retry" | "idle" | "drain";

export type InstanceEvent =
  | { readonly type: "call" | "recheck" | "quiet" | "drain" | "stop" }
  | { readonly type: "opened"; readonly session: number }
  | { readonly type: "openFailed" | "lost"; readonly session: number; readonly fault: Fault }
  /** A check without a start has shown that the instance could not start. */
  | { readonly type: "checkFailed"; readonly fault: Fault }
  /** The session is open, but its server does not answer; or it answers again. */
  | { readonly type: "unreachable"; readonly fault: Fault }
  | { readonly type: "reachable" }
  | { readonly type: "timer"; readonly timer: Timer };

export type Effect =
  | { readonly type: "open" | "close"; readonly session: number }
  /** The call of this event waits with the others, or is rejected without having been sent. */
  | { readonly type: "wait" }
  | { readonly type: "reject"; readonly reason: Fault | "busy" | "closed" }
  | { readonly type: "sendWaiting" }
  | { readonly type: "rejectWaiting"; readonly reason: Fault | "closed" }
  | { readonly type: "timer"; readonly timer: Timer; readonly at: number }
  /** Asks the server of the open session whether it answers. */
  | { readonly type: "probe" }
  | { readonly type: "emit"; readonly event: "ready" | "restarted" | "recovered" | "failed" | "stopped" };

export type Step = readonly [Instance, readonly Effect[]];

const MAX_CRASHES = 5;
const CRASH_WINDOW_MS = 60_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** The first delay until a missing secret is looked up again. It doubles, because a function of the program may look it up. */
const SECRET_RECHECK_MS = 4_000;
/** The longest delay for a package that cannot be installed, for instance because its registry does not have it. */
const MAX_INSTALL_DELAY_MS = 600_000;
/** The interval in which an unreachable server is probed. */
const PROBE_MS = 15_000;
export const MAX_WAITING = 1_000;

const NOTHING: readonly Effect[] = [];

export const NEW_INSTANCE: Instance = { state: { kind: "idle" }, sessions: 0, failures: 0, crashes: [] };

export function reduceInstance(one: Instance, event: InstanceEvent, facts: Facts, policy: Policy): Step {
  const { state } = one;
  switch (event.type) {
    case "call":
      return onCall(one, facts, policy);
    case "recheck":
      if (state.kind === "starting" && state.phase === "delayed")
        return open(one, state.why, state.retriesLeft);
      return isNotRunning(state) ? begin(one, policy) : [one, NOTHING];
    case "opened":
      if (state.kind !== "starting" || state.phase !== "opening" || state.session !== event.session)
        return [one, [{ type: "close", session: event.session }]];
      return becomeReady(one, state.why, event.session, facts, policy);
    case "openFailed":
      if (state.kind !== "starting" || state.phase !== "opening" || state.session !== event.session)
        return [one, NOTHING];
      return startFailed(one, state, event.fault, facts, policy);
    case "checkFailed":
      return state.kind === "idle" ? cannotStart(one, event.fault, facts, policy) : [one, NOTHING];
    case "lost":
      return sessionOf(state) === event.session
        ? onLost(one, event.session, event.fault, facts, policy)
        : [one, NOTHING];
    case "unreachable":
      return state.kind === "ready" ? onUnreachable(one, state, event.fault, facts, policy) : [one, NOTHING];
    case "reachable":
      if (!isUnreachable(state)) return [one, NOTHING];
      return [
        { ...one, state: { kind: "ready", session: state.session } },
        [{ type: "emit", event: "recovered" }],
      ];
    case "timer":
      return onTimer(one, event.timer, facts, policy);
    case "quiet":
      if (state.kind === "draining") return facts.inFlight > 0 ? [one, NOTHING] : stopped(one);
      return state.kind === "ready" ? [one, idleTimer(facts.now, policy)] : [one, NOTHING];
    case "drain":
      if (state.kind === "draining" || state.kind === "stopped") return [one, NOTHING];
      if (state.kind !== "ready" || facts.inFlight === 0) return stopped(one);
      return [
        { ...one, state: { kind: "draining", session: state.session } },
        [{ type: "timer", timer: "drain", at: facts.now + policy.drainMs }],
      ];
    case "stop":
      return state.kind === "stopped" ? [one, NOTHING] : stopped(one);
  }
}

function onCall(one: Instance, { now, waiting }: Facts, policy: Policy): Step {
  const { state } = one;
  const wait: Effect = { type: "wait" };
  switch (state.kind) {
    case "draining":
    case "stopped":
      return [one, [{ type: "reject", reason: "closed" }]];
    case "failed":
    case "blocked":
      // The instance is known to be broken, so no call waits to find that out a second time.
      if (now < state.retryAt) return [one, [{ type: "reject", reason: state.fault }]];
      return withFirst(wait, begin(one, policy));
    case "idle":
      return withFirst(wait, begin(one, policy));
    case "starting":
      return [one, [waiting >= MAX_WAITING ? { type: "reject", reason: "busy" } : wait]];
    case "ready":
      return [one, [wait, { type: "sendWaiting" }]];
  }
}

function begin(one: Instance, policy: Policy): Step {
  const isRetry = one.failures > 0 || one.state.kind === "failed" || one.state.kind === "blocked";
  return open(one, isRetry ? "retry" : "first", policy.startRetries);
}

function open(one: Instance, why: StartReason, retriesLeft: number): Step {
  const session = one.sessions + 1;
  return [
    { ...one, sessions: session, state: { kind: "starting", phase: "opening", why, session, retriesLeft } },
    [{ type: "open", session }],
  ];
}

function becomeReady(one: Instance, why: StartReason, session: number, facts: Facts, policy: Policy): Step {
  return [
    { ...one, failures: 0, state: { kind: "ready", session } },
    [
      { type: "emit", event: why === "restart" ? "restarted" : "ready" },
      { type: "sendWaiting" },
      ...idleTimer(facts.now, policy),
    ],
  ];
}

function startFailed(
  one: Instance,
  state: InstanceState & { kind: "starting" },
  fault: Fault,
  facts: Facts,
  policy: Policy,
): Step {
  if (fault.kind === "blocking" || state.retriesLeft === 0) return cannotStart(one, fault, facts, policy);
  const failures = one.failures + 1;
  return [
    { ...one, failures, state: { ...state, phase: "delayed", retriesLeft: state.retriesLeft - 1 } },
    [{ type: "timer", timer: "retry", at: facts.now + backOff(failures) * facts.jitter }],
  ];
}

function cannotStart(one: Instance, fault: Fault, { now, jitter }: Facts, policy: Policy): Step {
  const failures = one.failures + 1;
  const isBlocked = fault.kind === "blocking";
  const retryAt = now + (isBlocked ? recheckMs(fault, failures) : backOff(failures)) * jitter;
  return [
    { ...one, failures, state: { kind: isBlocked ? "blocked" : "failed", fault, retryAt } },
    [
      { type: "rejectWaiting", reason: fault },
      { type: "emit", event: "failed" },
      ...(policy.keepsTrying ? [{ type: "timer", timer: "retry", at: retryAt } as const] : NOTHING),
    ],
  ];
}

function onLost(
  one: Instance,
  session: number,
  fault: Fault,
  { now, jitter }: Facts,
  { restarts }: Policy,
): Step {
  const close: Effect = { type: "close", session };
  if (one.state.kind === "draining" || !restarts) return stopped(one);
  // A session that the server forgot is no crash: it is replaced at once.
  const isForgotten = fault.error.code === "SESSION_LOST";
  const recent = one.crashes.filter((at) => now - at < CRASH_WINDOW_MS);
  const crashes = isForgotten ? recent : [...recent, now];
  const at = now + (isForgotten ? 0 : backOff(crashes.length) * jitter);
  const retry: Effect = { type: "timer", timer: "retry", at };
  const failed: Effect = { type: "emit", event: "failed" };
  if (crashes.length >= MAX_CRASHES)
    return [
      { ...one, crashes, state: { kind: "failed", fault, retryAt: at } },
      [close, { type: "rejectWaiting", reason: fault }, failed, retry],
    ];
  const delayed: InstanceState = {
    kind: "starting",
    phase: "delayed",
    why: "restart",
    session,
    retriesLeft: 0,
  };
  return [{ ...one, crashes, state: delayed }, isForgotten ? [close, retry] : [close, failed, retry]];
}

function onUnreachable(
  one: Instance,
  state: InstanceState & { kind: "ready" },
  fault: Fault,
  { now }: Facts,
  { keepsTrying }: Policy,
): Step {
  return [
    { ...one, state: { ...state, fault } },
    [
      ...(isUnreachable(state) ? NOTHING : [{ type: "emit", event: "failed" } as const]),
      ...(keepsTrying ? [{ type: "timer", timer: "retry", at: now + PROBE_MS } as const] : NOTHING),
    ],
  ];
}

function onTimer(one: Instance, timer: Timer, facts: Facts, policy: Policy): Step {
  const { state } = one;
  if (timer === "drain") return state.kind === "draining" ? stopped(one) : [one, NOTHING];
  if (timer === "idle")
    return state.kind === "ready" ? onIdleTimer(one, state.session, facts, policy) : [one, NOTHING];
  if (state.kind === "starting" && state.phase === "delayed") return open(one, state.why, state.retriesLeft);
  if ((state.kind === "failed" || state.kind === "blocked") && policy.keepsTrying) return begin(one, policy);
  if (isUnreachable(state)) return [one, [{ type: "probe" }]];
  return [one, NOTHING];
}

function onIdleTimer(one: Instance, session: number, facts: Facts, policy: Policy): Step {
  if (policy.idleMs === undefined) return [one, NOTHING];
  // The calls, waiters and subscriptions that keep it in use report their end with `quiet`.
  if (facts.inFlight + facts.waiting + facts.subscriptions > 0) return [one, NOTHING];
  if (facts.now < facts.lastUsedAt + policy.idleMs) return [one, idleTimer(facts.lastUsedAt, policy)];
  return [
    { ...one, state: { kind: "idle" } },
    [
      { type: "close", session },
      { type: "emit", event: "stopped" },
    ],
  ];
}

function idleTimer(from: number, { idleMs }: Policy): readonly Effect[] {
  return idleMs === undefined ? NOTHING : [{ type: "timer", timer: "idle", at: from + idleMs }];
}

function stopped(one: Instance): Step {
  const session = sessionOf(one.state);
  // A server that was never started, or is idle, has nothing to report.
  const wasUsed = one.state.kind !== "idle";
  return [
    { ...one, state: { kind: "stopped" } },
    [
      { type: "rejectWaiting", reason: "closed" },
      ...(session === undefined ? NOTHING : [{ type: "close", session } as const]),
      ...(wasUsed ? [{ type: "emit", event: "stopped" } as const] : NOTHING),
    ],
  ];
}

/** The session that is open, or that is being opened. */
function sessionOf(state: InstanceState): number | undefined {
  if (state.kind === "starting") return state.phase === "opening" ? state.session : undefined;
  return state.kind === "ready" || state.kind === "draining" ? state.session : undefined;
}

function isNotRunning({ kind }: InstanceState): boolean {
  return kind === "idle" || kind === "failed" || kind === "blocked";
}

function recheckMs({ error: { code, data } }: Fault, failures: number): number {
  if (code === "SECRET_MISSING" || code === "SECRET_STORE_FAILED")
    return backoffMs(failures - 1, SECRET_RECHECK_MS, MAX_DELAY_MS);
  const isInstall = code === "INSTALL_FAILED" || code === "PACKAGE_NOT_FOUND";
  const isPermanent = isInstall && data.permanent === true;
  return isPermanent ? backoffMs(failures - 1, MAX_DELAY_MS, MAX_INSTALL_DELAY_MS) : MAX_DELAY_MS;
}

function backOff(count: number): number {
  return backoffMs(count - 1, FIRST_DELAY_MS, MAX_DELAY_MS);
}

function withFirst(effect: Effect, [one, effects]: Step): Step {
  return [one, [effect, ...effects]];
}

/** True when the session is open, but its server does not answer. */
export function isUnreachable(
  state: InstanceState,
): state is InstanceState & { kind: "ready"; readonly fault: Fault } {
  return state.kind === "ready" && state.fault !== undefined;
}

/** Undefined for states that say nothing new to the users of an upstream. */
export function publicStateOf(state: InstanceState): UpstreamState | undefined {
  switch (state.kind) {
    case "ready":
      return isUnreachable(state) ? "reconnecting" : "ready";
    case "starting":
      return state.why === "restart" ? "reconnecting" : undefined;
    case "failed":
    case "blocked":
      return "failed";
    case "stopped":
      return "closed";
    case "idle":
    case "draining":
      return undefined;
  }
}
