// Runs one instance of a server: carries out what the reducer decides, and is one upstream over all of its sessions.

import { isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { JsonObject, LogLevel } from "../../model/index.ts";
import { Emitter } from "../emitter.ts";
import type {
  Call,
  Description,
  Upstream,
  UpstreamEvents,
  UpstreamState,
  UpstreamStats,
} from "../upstream.ts";
import { pause, timerMs, within } from "../waiting.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import {
  closedError,
  isServerFailure,
  mayRepeat,
  neverSentError,
  toFault,
  unavailableError,
} from "./faults.ts";
import {
  type Effect,
  type Fault,
  type Instance,
  type InstanceEvent,
  type InstanceState,
  MAX_WAITING,
  NEW_INSTANCE,
  type Policy,
  publicStateOf,
  reduceInstance,
  type Timer,
} from "./instance.ts";
import { SessionSubscriptions } from "./session-subscriptions.ts";
import { NO_STATS, sumOf } from "./stats.ts";
import { newWaiters, type Waiters } from "./waiters.ts";

const MAX_REPEATS = 2;
const DRAIN_CHECK_MS = 50;

/** One open session of a server. It ends with the session; `release` closes it unless others use it too. */
export interface SessionHandle {
  readonly upstream: Upstream;
  /** Whether it has calls that did not come through the owner of the lease. */
  busy?(): boolean;
  release(): Promise<void>;
}

export interface SupervisionOptions {
  readonly name: string;
  /** Asked with every event, since settings may change while the instance runs. */
  readonly policy: () => Policy;
  /** How long a call without a timeout of its own waits for a start. */
  readonly requestTimeoutMs: number;
  /** Opens a session. `before` describes the last one, if there was one. */
  readonly open: (signal: AbortSignal, before: Description | undefined) => Promise<SessionHandle>;
  /** A session was opened; calls are sent to it from now on. `isRenewed`: there was one before it. */
  readonly opened?: ((lease: SessionHandle, isRenewed: boolean) => void) | undefined;
  readonly event?: ((event: LifecycleEvent) => void) | undefined;
  readonly changed?: ((state: InstanceState) => void) | undefined;
  /** Whether calls are in flight that this instance does not see. */
  readonly busy?: (() => boolean) | undefined;
  readonly logLevel?: LogLevel | undefined;
}

export type LifecycleEvent = Extract<Effect, { type: "emit" }>["event"];

const LIST_EVENTS = ["toolsChanged", "promptsChanged", "resourcesChanged"] as const;
export class SupervisedUpstream implements Upstream {
  readonly name: string;
  /** The last one that says something about the server. */
  lastFault: Fault | undefined;
  readonly #options: SupervisionOptions;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #breaker = new CircuitBreaker();
  readonly #subscriptions = new SessionSubscriptions();
  readonly #timers = new Map<Timer, NodeJS.Timeout>();
  readonly #opening = new Map<number, AbortController>();
  readonly #opens = new Set<Promise<void>>();
  #stopping: Promise<void> | undefined;
  /** Leases that are being released. */
  readonly #releasing = new Map<Promise<void>, SessionHandle>();
  #instance: Instance = NEW_INSTANCE;
  #current:
    | { readonly session: number; readonly lease: SessionHandle; readonly stop: () => void }
    | undefined;
  /** Where calls are sent without the reducer; undefined unless the instance is ready. */
  #live: Upstream | undefined;
  #watch: NodeJS.Timeout | undefined;
  #waiters: Waiters | undefined;
  #waiting = 0;
  #inFlight = 0;
  #lastUsedAt = 0;
  /** Whether the end of the last call must be reported to the reducer. */
  #reportsQuiet = false;
  #description: Description | undefined;
  #past: UpstreamStats = NO_STATS;
  #restarts = 0;
  #logLevel: LogLevel | undefined;
  #publicState: UpstreamState = "reconnecting";

  constructor(options: SupervisionOptions) {
    this.name = options.name;
    this.#options = options;
    this.#logLevel = options.logLevel;
  }

  get state(): InstanceState {
    return this.#instance.state;
  }

  /** The open session while the instance is ready. */
  get live(): Upstream | undefined {
    return this.#live;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get isBusy(): boolean {
    return this.#facts().inFlight > 0;
  }

  /** True when the last attempt failed, also while another one is made. */
  get isDown(): boolean {
    const { state, failures } = this.#instance;
    return state.kind === "failed" || state.kind === "blocked" || (state.kind === "starting" && failures > 0);
  }

  /** Why calls are rejected now, with the time of the next attempt; undefined when they are not. */
  get unavailable(): PortolanError | undefined {
    const { state } = this;
    if (state.kind !== "failed" && state.kind !== "blocked") return undefined;
    return unavailableError(this.name, state.fault, state.retryAt - performance.now());
  }

  /** The open session; starts one unless that failed a moment ago. Rejects when the start fails. */
  start(): Promise<Upstream> {
    return this.#live === undefined ? this.#afterCall() : Promise.resolve(this.#live);
  }

  /** The same, also for an instance that failed a moment ago. */
  recheck(): Promise<Upstream> {
    if (this.#live !== undefined) return Promise.resolve(this.#live);
    this.#feed({ type: "recheck" });
    return this.#afterCall();
  }

  /** The same as `start`, within the time of a call. */
  ready(call?: Pick<Call, "timeoutMs" | "signal">): Promise<Upstream> {
    if (this.#live !== undefined) return Promise.resolve(this.#live);
    const ms = call?.timeoutMs ?? this.#options.requestTimeoutMs;
    return within(this.#afterCall(), { server: this.name, what: "starting", ms, signal: call?.signal });
  }

  describe(): Description {
    // No caller gets the upstream before its first session was opened.
    return this.#description as Description;
  }

  /** Undefined before the first session was opened. */
  get description(): Description | undefined {
    return this.#description;
  }

  request(call: Call): Promise<JsonObject> {
    const live = this.#live;
    if (live === undefined || !this.#breaker.closed) return this.#requestLater(call, 0);
    const sentAt = performance.now();
    this.#inFlight += 1;
    return live
      .request(call)
      .then(this.#answered, (thrown: unknown) => this.#recover(thrown, call, live, sentAt, 0));
  }

  notify(method: string, params?: JsonObject): void {
    this.#live?.notify(method, params);
  }

  /** The subscription is renewed with every new session, and keeps the instance from being idle. */
  async subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#untilReleased(await this.#inSession((live) => this.#subscriptions.add(uri, live)));
  }

  /** The same, from the next session on when none is open. */
  keepSubscribed(uri: string): () => Promise<void> {
    return this.#untilReleased(this.#subscriptions.want(uri));
  }

  #untilReleased(release: () => Promise<void>): () => Promise<void> {
    return async () => {
      await release();
      this.#quiet();
    };
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    if (this.#live !== undefined) await this.#inSession((live) => live.setLogLevel(level));
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const now = this.#current?.lease.upstream.stats() ?? NO_STATS;
    return { ...sumOf(this.#past, now), inFlight: now.inFlight, restarts: this.#restarts };
  }

  /** Calls in flight are finished, for a while; no other is accepted. Resolves when the instance has stopped. */
  async drain(): Promise<void> {
    this.#feed({ type: "drain" });
    if (this.state.kind === "stopped") return this.#closed();
    await new Promise<void>((resolve) => {
      const off = this.#emitter.on("stateChanged", (state) => {
        if (state !== "closed") return;
        off();
        resolve();
      });
    });
    await this.#closed();
  }

  async close(): Promise<void> {
    // A session that finishes its last requests does not get the time for that any more.
    const late = [...this.#releasing.values()].map((lease) => lease.release());
    this.#feed({ type: "stop" });
    await Promise.all([...late, this.#closed()]);
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reports that a call ended which this instance does not see. */
  quiet(): void {
    if (this.#options.policy().idleMs !== undefined) this.#lastUsedAt = performance.now();
    if (this.#reportsQuiet) this.#quiet();
  }

  /** The instance cannot be started, as a check has shown that did not start it. */
  checkFailed(error: PortolanError): void {
    this.#feed({ type: "checkFailed", fault: toFault(error) });
  }

  async #closed(): Promise<void> {
    await Promise.all([...this.#opens, ...this.#releasing.keys(), this.#stopping]);
  }

  readonly #answered = (result: JsonObject): JsonObject => {
    this.#ended();
    return result;
  };

  #ended(): void {
    this.#inFlight -= 1;
    if (this.#options.policy().idleMs !== undefined) this.#lastUsedAt = performance.now();
    if (this.#reportsQuiet) this.#quiet();
  }

  #quiet(): void {
    if (this.#facts().inFlight === 0) this.#feed({ type: "quiet" });
  }

  /** Runs it once more in a new session when the server has forgotten the open one. */
  async #inSession<T>(run: (live: Upstream) => Promise<T>): Promise<T> {
    try {
      return await run(await this.ready());
    } catch (error) {
      if (!isPortolanError(error) || error.code !== "SESSION_LOST") throw error;
      return run(await this.ready());
    }
  }

  async #requestLater(call: Call, attempt: number): Promise<JsonObject> {
    if (!this.#breaker.allows()) throw unavailableError(this.name, this.lastFault, this.#breaker.pauseLeft);
    let live: Upstream;
    try {
      live = await this.ready(call);
    } catch (error) {
      this.#breaker.undecided();
      throw error;
    }
    const sentAt = performance.now();
    this.#inFlight += 1;
    try {
      const result = await live.request(call);
      this.#breaker.succeeded();
      return this.#answered(result);
    } catch (error) {
      return this.#recover(error, call, live, sentAt, attempt);
    }
  }

  /** Sends a failed request again when it cannot have run, or when running it twice does no harm. */
  async #recover(
    thrown: unknown,
    call: Call,
    live: Upstream,
    sentAt: number,
    attempt: number,
  ): Promise<JsonObject> {
    this.#ended();
    const error = toPortolanError(thrown, { server: this.name });
    const isFailure = isServerFailure(error);
    if (isFailure && live.describe().transport === "http") {
      // Elsewhere a failure is the end of the session, which the reducer counts.
      this.lastFault = toFault(error);
      this.#breaker.failed(sentAt);
    } else if (error.code === "RPC_ERROR") this.#breaker.succeeded();
    else this.#breaker.undecided();
    if (call.signal?.aborted === true || this.state.kind === "stopped") throw error;
    if (error.code === "SESSION_LOST" && attempt === 0) return this.#requestLater(call, attempt + 1);
    if (!isFailure || !mayRepeat(error, call) || attempt >= MAX_REPEATS) throw error;
    await pause(100 + Math.random() * 300, call.signal);
    return this.#requestLater(call, attempt + 1);
  }

  /** Waits for the session that is being opened, or begins to open one. */
  #afterCall(): Promise<Upstream> {
    const refused = this.#feed({ type: "call" });
    if (refused !== undefined) return Promise.reject(this.#toError(refused));
    const waiters = (this.#waiters ??= newWaiters());
    // A session that was there already has been passed on before anybody waited for it.
    if (this.#live !== undefined) this.#settle(this.#live);
    this.#waiting += 1;
    return waiters.opened.finally(() => {
      this.#waiting -= 1;
    });
  }

  #toError(reason: Fault | "busy" | "closed"): PortolanError {
    if (reason === "closed") return neverSentError(this.name);
    if (reason !== "busy") return this.unavailable ?? reason.error;
    const message = `${MAX_WAITING} requests already wait for ${this.name} to start`;
    return new PortolanError("BUSY", message, { server: this.name });
  }

  /** Gives why the call of a `call` event is rejected. */
  #feed(event: InstanceEvent): Fault | "busy" | "closed" | undefined {
    const before = this.state;
    const [next, effects] = reduceInstance(this.#instance, event, this.#facts(), this.#options.policy());
    this.#instance = next;
    const { state } = next;
    this.#live = state.kind === "ready" ? this.#current?.lease.upstream : undefined;
    if ("fault" in event) this.lastFault = event.fault;
    if (state !== before && state.kind !== "ready") this.#clear("idle");
    let refused: Fault | "busy" | "closed" | undefined;
    for (const effect of effects) if (effect.type === "reject") refused = effect.reason;
    for (const effect of effects) this.#carryOut(effect);
    this.#reportsQuiet =
      this.#options.policy().idleMs !== undefined ? !this.#timers.has("idle") : state.kind === "draining";
    if (state !== before) this.#changed(state);
    return refused;
  }

  #facts(): Parameters<typeof reduceInstance>[2] {
    const elsewhere = this.#options.busy?.() === true || this.#current?.lease.busy?.() === true;
    return {
      now: performance.now(),
      jitter: 0.8 + Math.random() * 0.4,
      inFlight: this.#inFlight + (elsewhere ? 1 : 0),
      waiting: this.#waiting,
      subscriptions: this.#subscriptions.size,
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
        if (this.#live !== undefined) this.#settle(this.#live);
        return;
      case "rejectWaiting": {
        const { reason } = effect;
        this.#waiters?.reject(reason === "closed" ? neverSentError(this.name) : reason.error);
        this.#waiters = undefined;
        return;
      }
      case "timer":
        return this.#arm(effect.timer, effect.at);
      case "emit":
        if (effect.event === "restarted") this.#restarts += 1;
        if (effect.event !== "stopped") return this.#options.event?.(effect.event);
        // It has stopped when its process is gone.
        this.#stopping = Promise.all(this.#releasing.keys()).then(() => this.#options.event?.("stopped"));
        return;
      case "wait":
      case "reject":
    }
  }

  #settle(live: Upstream): void {
    this.#waiters?.resolve(live);
    this.#waiters = undefined;
  }

  #open(session: number): void {
    const leaving = new AbortController();
    this.#opening.set(session, leaving);
    const opening = this.#options
      .open(leaving.signal, this.#description)
      .then(
        (lease) => this.#opened(session, lease),
        (thrown: unknown) => {
          const error = toPortolanError(thrown, { server: this.name });
          this.#feed({ type: "openFailed", session, fault: toFault(error) });
        },
      )
      .finally(() => {
        this.#opening.delete(session);
        this.#opens.delete(opening);
      });
    this.#opens.add(opening);
  }

  #opened(session: number, lease: SessionHandle): Promise<void> | void {
    const { state } = this;
    // The reducer closes a session that nobody waits for any more; it never becomes the current one.
    if (state.kind !== "starting" || state.session !== session) return lease.release();
    const { upstream } = lease;
    const forward = (event: keyof UpstreamEvents): (() => void) =>
      upstream.on(event, (...args) => this.#emitter.emit(event, ...args));
    const offs = [
      ...([...LIST_EVENTS, "resourceUpdated", "log"] as const).map(forward),
      upstream.on("stateChanged", (now, reason) => {
        if (now === "ready" || now === "reconnecting") return;
        const error = reason ?? closedError(this.name);
        this.#feed({ type: "lost", session, fault: toFault(error) });
      }),
    ];
    this.#current = { session, lease, stop: () => offs.forEach((off) => off()) };
    const isRenewed = this.#description !== undefined;
    this.#description = upstream.describe();
    if (this.#logLevel !== undefined) upstream.setLogLevel(this.#logLevel).catch(() => {});
    this.#subscriptions.renew(upstream);
    this.#feed({ type: "opened", session });
    this.#options.opened?.(lease, isRenewed);
    // The lists of an earlier session may have changed with the new one.
    if (isRenewed) for (const event of LIST_EVENTS) this.#emitter.emit(event);
  }

  #close(session: number): void {
    this.#opening.get(session)?.abort(closedError(this.name));
    const current = this.#current;
    if (current?.session !== session) return;
    this.#current = undefined;
    this.#live = undefined;
    current.stop();
    this.#past = sumOf(this.#past, current.lease.upstream.stats());
    this.#subscriptions.detach();
    const released: Promise<void> = current.lease
      .release()
      .catch(() => {})
      .finally(() => this.#releasing.delete(released));
    this.#releasing.set(released, current.lease);
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
    // A restart that is due keeps the program alive; timers that may run for ever do not.
    if (this.state.kind !== "starting") armed.unref();
    this.#timers.set(timer, armed);
  }

  #clear(timer: Timer): void {
    clearTimeout(this.#timers.get(timer));
    this.#timers.delete(timer);
  }

  #changed(state: InstanceState): void {
    // Calls that did not come through here report no end.
    clearInterval(this.#watch);
    if (state.kind === "draining" && this.#current?.lease.busy !== undefined)
      this.#watch = setInterval(() => this.#quiet(), DRAIN_CHECK_MS).unref();
    if (state.kind === "stopped") for (const timer of this.#timers.keys()) this.#clear(timer);
    this.#options.changed?.(state);
    const shown = publicStateOf(state);
    if (shown === undefined || shown === this.#publicState) return;
    this.#publicState = shown;
    this.#emitter.emit("stateChanged", shown, shown === "ready" ? undefined : this.lastFault?.error);
  }
}
