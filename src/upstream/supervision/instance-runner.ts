// Instance runner: keeps the state of one instance and carries out the effects of its reducer. It opens and closes sessions,
// sets timers, and lets callers wait for a start.

import { isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { Call, Upstream } from "../upstream.ts";
import { timerMs, within } from "../waiting.ts";
import { closedError, lateStartError, neverSentError, toFault, unavailableError } from "./faults.ts";
import {
  type Effect,
  type Facts,
  type Fault,
  type Instance,
  type InstanceEvent,
  type InstanceState,
  isUnreachable,
  MAX_WAITING,
  NEW_INSTANCE,
  type Policy,
  reduceInstance,
  type Timer,
} from "./instance.ts";

/** The interval in which a draining instance checks for calls that do not report their end. */
const DRAIN_CHECK_MS = 50;

/** One open session of a server. It ends with its connection; `release` closes it unless others use it too. */
export interface SessionHandle {
  readonly upstream: Upstream;
  /** True when the session has calls of other users. */
  busy?(): boolean;
  release(): Promise<void>;
}

export type LifecycleEvent = Extract<Effect, { type: "emit" }>["event"];

export interface RunnerOptions {
  readonly name: string;
  /** Read with every event, because settings may change while the instance runs. */
  readonly policy: () => Policy;
  /** How long a call without a timeout of its own waits for a start. */
  readonly requestTimeoutMs: number;
  readonly open: (signal: AbortSignal) => Promise<SessionHandle>;
  /** A session was opened. `lost` reports its end. The returned function is called before the session is released. */
  readonly attach: (handle: SessionHandle, lost: (error: PortolanError) => void) => () => void;
  /** Calls are sent to the session from now on. */
  readonly attached: (handle: SessionHandle) => void;
  readonly event: (event: LifecycleEvent) => void;
  /** Asks the server of the open session whether it answers. */
  readonly probe: () => void;
  readonly changed: (state: InstanceState) => void;
  /** True when calls are in flight that this instance does not see. */
  readonly busy: () => boolean;
  readonly subscriptions: () => number;
}

interface CurrentSession {
  readonly session: number;
  readonly handle: SessionHandle;
  readonly detach: () => void;
}

/** Callers that wait for the same start. */
interface Waiters {
  readonly opened: Promise<Upstream>;
  readonly resolve: (upstream: Upstream) => void;
  readonly reject: (error: PortolanError) => void;
}

export class InstanceRunner {
  /** The open session while the instance is ready: calls are sent to it without the reducer. */
  live: Upstream | undefined;
  /** Calls in flight. The caller increments it; `callEnded` decrements it. */
  inFlight = 0;
  restarts = 0;
  /** The last error about the server. */
  lastFault: Fault | undefined;
  readonly #options: RunnerOptions;
  readonly #timers = new Map<Timer, NodeJS.Timeout>();
  readonly #opening = new Map<number, AbortController>();
  readonly #opens = new Set<Promise<void>>();
  readonly #releasing = new Map<Promise<void>, SessionHandle>();
  readonly #whenStopped = new Set<() => void>();
  #stopping: Promise<void> | undefined;
  #instance: Instance = NEW_INSTANCE;
  #current: CurrentSession | undefined;
  #drainCheck: NodeJS.Timeout | undefined;
  #waiters: Waiters | undefined;
  #waiting = 0;
  #lastUsedAt = 0;
  /** True when the end of the last call must be reported to the reducer. */
  #reportsQuiet = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get state(): InstanceState {
    return this.#instance.state;
  }

  get current(): Upstream | undefined {
    return this.#current?.handle.upstream;
  }

  get isBusy(): boolean {
    return this.#facts().inFlight > 0;
  }

  /** True when the last start failed, also during the next attempt, and when the server does not answer. */
  get isDown(): boolean {
    const { state, failures } = this.#instance;
    if (state.kind === "starting") return failures > 0 || state.why === "retry";
    return state.kind === "failed" || state.kind === "blocked" || isUnreachable(state);
  }

  /** The state before the attempt that runs now, if that attempt follows a failure; otherwise undefined. */
  get retriedState(): "failed" | "blocked" | undefined {
    const { state } = this;
    if (state.kind !== "starting" || state.why !== "retry") return undefined;
    return this.lastFault?.kind === "blocking" ? "blocked" : "failed";
  }

  /** The error of calls that are rejected now, with the time of the next attempt. */
  get unavailable(): PortolanError | undefined {
    const { state } = this;
    if (state.kind !== "failed" && state.kind !== "blocked") return undefined;
    return unavailableError(this.#options.name, state.fault, state.retryAt - performance.now());
  }

  /** Starts the instance unless a start failed a moment ago. Rejects when the start fails. */
  start(): Promise<Upstream> {
    return this.live === undefined ? this.#waitForStart() : Promise.resolve(this.live);
  }

  /** Like `start`, but also for an instance that failed a moment ago. */
  recheck(): Promise<Upstream> {
    if (this.live !== undefined) return Promise.resolve(this.live);
    this.#feed({ type: "recheck" });
    return this.#waitForStart();
  }

  /** Like `start`, within the time limit of a call. */
  ready(call?: Pick<Call, "timeoutMs" | "signal">): Promise<Upstream> {
    if (this.live !== undefined) return Promise.resolve(this.live);
    const { name: server, requestTimeoutMs } = this.#options;
    const ms = call?.timeoutMs ?? requestTimeoutMs;
    const limit = { server, what: "starting", ms, signal: call?.signal };
    // A failed start rejects with the error of the server, which may be a TIMEOUT of the server's own.
    let isOver = false;
    const started = this.#waitForStart().finally(() => {
      isOver = true;
    });
    return within(started, limit).catch((thrown: unknown) => {
      if (isOver || !isPortolanError(thrown) || thrown.code !== "TIMEOUT") throw thrown;
      const { state } = this;
      const isAgain = state.kind === "starting" && (state.why !== "first" || this.isDown);
      throw lateStartError(thrown, server, isAgain ? this.lastFault : undefined);
    });
  }

  /** Finishes the calls in flight and rejects others. Resolves when the instance has stopped. */
  async drain(): Promise<void> {
    this.#feed({ type: "drain" });
    if (this.state.kind !== "stopped")
      await new Promise<void>((resolve) => {
        this.#whenStopped.add(resolve);
      });
    await this.#closed();
  }

  async stop(): Promise<void> {
    // A session that is finishing its last requests is closed at once.
    const late = [...this.#releasing.values()].map((handle) => handle.release());
    this.#feed({ type: "stop" });
    await Promise.all([...late, this.#closed()]);
  }

  callEnded(): void {
    this.inFlight -= 1;
    this.otherCallEnded();
  }

  /** A call ended that this instance does not see. */
  otherCallEnded(): void {
    if (this.#options.policy().idleMs !== undefined) this.#lastUsedAt = performance.now();
    if (this.#reportsQuiet) this.reportQuiet();
  }

  reportQuiet(): void {
    if (this.#facts().inFlight === 0) this.#feed({ type: "quiet" });
  }

  /** A check without a start has shown that the instance cannot start. */
  checkFailed(error: PortolanError): void {
    this.#feed({ type: "checkFailed", fault: toFault(error) });
  }

  /** The server of the open session does not answer. */
  unreachable(error: PortolanError): void {
    this.#feed({ type: "unreachable", fault: toFault(error) });
  }

  /** The server of the open session answered. */
  reachable(): void {
    if (isUnreachable(this.state)) this.#feed({ type: "reachable" });
  }

  async #closed(): Promise<void> {
    await Promise.all([...this.#opens, ...this.#releasing.keys(), this.#stopping]);
  }

  /** Waits for the session that is being opened, or begins to open one. */
  #waitForStart(): Promise<Upstream> {
    const rejected = this.#feed({ type: "call" });
    if (rejected !== undefined) return Promise.reject(this.#toError(rejected));
    const waiters = (this.#waiters ??= createWaiters());
    // A session that was open before has sent `sendWaiting` before there were waiters.
    this.#resolveWaiters();
    this.#waiting += 1;
    return waiters.opened.finally(() => {
      this.#waiting -= 1;
    });
  }

  #toError(reason: Fault | "busy" | "closed"): PortolanError {
    const { name } = this.#options;
    if (reason === "closed") return neverSentError(name);
    if (reason !== "busy") return this.unavailable ?? reason.error;
    const message = `the call was not sent: ${MAX_WAITING} requests already wait until ${name} has started`;
    return new PortolanError("BUSY", message, {
      server: name,
      hint: "Call again when the server has started.",
    });
  }

  /** Returns why the call of a `call` event is rejected. */
  #feed(event: InstanceEvent): Fault | "busy" | "closed" | undefined {
    const before = this.state;
    const [next, effects] = reduceInstance(this.#instance, event, this.#facts(), this.#options.policy());
    this.#instance = next;
    const { state } = next;
    this.live = state.kind === "ready" ? this.current : undefined;
    if ("fault" in event) this.lastFault = event.fault;
    if (state !== before && state.kind !== "ready") this.#clear("idle");
    let rejected: Fault | "busy" | "closed" | undefined;
    for (const effect of effects) if (effect.type === "reject") rejected = effect.reason;
    for (const effect of effects) this.#carryOut(effect);
    this.#reportsQuiet =
      this.#options.policy().idleMs !== undefined ? !this.#timers.has("idle") : state.kind === "draining";
    if (state !== before) this.#changed(state);
    return rejected;
  }

  #facts(): Facts {
    const isBusyElsewhere = this.#options.busy() || this.#current?.handle.busy?.() === true;
    return {
      now: performance.now(),
      jitter: 0.8 + Math.random() * 0.4,
      inFlight: this.inFlight + (isBusyElsewhere ? 1 : 0),
      waiting: this.#waiting,
      subscriptions: this.#options.subscriptions(),
      lastUsedAt: this.#lastUsedAt,
    };
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "open":
        return this.#open(effect.session);
      case "close":
        return this.#close(effect.session);
      case "sendWaiting":
        return this.#resolveWaiters();
      case "rejectWaiting": {
        const { reason } = effect;
        this.#waiters?.reject(reason === "closed" ? neverSentError(this.#options.name) : reason.error);
        this.#waiters = undefined;
        return;
      }
      case "timer":
        return this.#arm(effect.timer, effect.at);
      case "probe":
        return this.#options.probe();
      case "emit":
        if (effect.event === "restarted") this.restarts += 1;
        if (effect.event !== "stopped") return this.#options.event(effect.event);
        // The event is emitted when the process has ended.
        this.#stopping = Promise.all(this.#releasing.keys()).then(() => this.#options.event("stopped"));
        return;
      case "wait":
      case "reject":
    }
  }

  #resolveWaiters(): void {
    if (this.live === undefined) return;
    this.#waiters?.resolve(this.live);
    this.#waiters = undefined;
  }

  #open(session: number): void {
    const leaving = new AbortController();
    this.#opening.set(session, leaving);
    const opening = this.#options
      .open(leaving.signal)
      .then(
        (handle) => this.#opened(session, handle),
        (thrown: unknown) => {
          const error = toPortolanError(thrown, { server: this.#options.name });
          this.#feed({ type: "openFailed", session, fault: toFault(error) });
        },
      )
      .finally(() => {
        this.#opening.delete(session);
        this.#opens.delete(opening);
      });
    this.#opens.add(opening);
  }

  #opened(session: number, handle: SessionHandle): Promise<void> | void {
    const { state } = this;
    // A session that nobody waits for any more never becomes the current one.
    if (state.kind !== "starting" || state.session !== session) return handle.release();
    const lost = (error: PortolanError): void =>
      void this.#feed({ type: "lost", session, fault: toFault(error) });
    this.#current = { session, handle, detach: this.#options.attach(handle, lost) };
    this.#feed({ type: "opened", session });
    this.#options.attached(handle);
  }

  #close(session: number): void {
    this.#opening.get(session)?.abort(closedError(this.#options.name));
    const current = this.#current;
    if (current?.session !== session) return;
    this.#current = undefined;
    this.live = undefined;
    current.detach();
    const released: Promise<void> = current.handle
      .release()
      .catch(() => {})
      .finally(() => this.#releasing.delete(released));
    this.#releasing.set(released, current.handle);
  }

  #arm(timer: Timer, at: number): void {
    this.#clear(timer);
    const armed = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#feed({ type: "timer", timer });
      },
      timerMs(at - performance.now()),
    );
    // A pending restart keeps the program alive; timers that repeat without end do not.
    if (this.state.kind !== "starting") armed.unref();
    this.#timers.set(timer, armed);
  }

  #clear(timer: Timer): void {
    clearTimeout(this.#timers.get(timer));
    this.#timers.delete(timer);
  }

  #changed(state: InstanceState): void {
    // Calls of other users do not report their end, so it is polled.
    clearInterval(this.#drainCheck);
    if (state.kind === "draining" && this.#current?.handle.busy !== undefined)
      this.#drainCheck = setInterval(() => this.reportQuiet(), DRAIN_CHECK_MS).unref();
    if (state.kind === "stopped") for (const timer of this.#timers.keys()) this.#clear(timer);
    this.#options.changed(state);
    if (state.kind !== "stopped") return;
    for (const resolve of this.#whenStopped) resolve();
    this.#whenStopped.clear();
  }
}

function createWaiters(): Waiters {
  let resolve: Waiters["resolve"] = () => {};
  let reject: Waiters["reject"] = () => {};
  const opened = new Promise<Upstream>((onOpened, onFailed) => {
    resolve = onOpened;
    reject = onFailed;
  });
  opened.catch(() => {});
  return { opened, resolve, reject };
}
