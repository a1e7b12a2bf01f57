// Supervised upstream: one instance of a server as an upstream over all of its sessions. It renews subscriptions and the log
// level in every session, and repeats requests where that does no harm.

import { isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import type { JsonObject, LogLevel } from "../../model/index.ts";
import { Emitter } from "../emitter.ts";
import { PROBES } from "../session/peer.ts";
import {
  type Call,
  type Description,
  NO_STATS,
  type Upstream,
  type UpstreamEvents,
  type UpstreamState,
  type UpstreamStats,
} from "../upstream.ts";
import { pause } from "../waiting.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { closedError, finalError, isServerFailure, mayRepeat, toFault, unavailableError } from "./faults.ts";
import { type Fault, type InstanceState, publicStateOf } from "./instance.ts";
import { InstanceRunner, type RunnerOptions, type SessionHandle } from "./instance-runner.ts";
import { SessionSubscriptions } from "./session-subscriptions.ts";

const MAX_REPEATS = 2;
const PROBE_TIMEOUT_MS = 5_000;
/** For requests that were sent while the breaker counted no failures: reading the clock for each would cost time. */
const BEFORE_FAILURES = 0;
const LIST_EVENTS = ["toolsChanged", "promptsChanged", "resourcesChanged"] as const;
const FORWARDED_EVENTS = [...LIST_EVENTS, "resourceUpdated", "log"] as const;

export interface SupervisionOptions
  extends
    Pick<RunnerOptions, "name" | "policy" | "requestTimeoutMs">,
    Partial<Pick<RunnerOptions, "event" | "changed" | "busy">> {
  /** Opens a session. `before` describes the last one, if there was one. */
  readonly open: (signal: AbortSignal, before: Description | undefined) => Promise<SessionHandle>;
  /** Calls are sent to this session from now on. `isRenewed`: there was one before it. */
  readonly opened?: (handle: SessionHandle, isRenewed: boolean) => void;
  /** Checks a call that waited for a new session, right before it is sent: the server may have changed. Throws to refuse it. */
  readonly checkLate?: (call: Call) => Promise<void>;
  readonly logLevel?: LogLevel;
}

export class SupervisedUpstream implements Upstream {
  readonly name: string;
  readonly #runner: InstanceRunner;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #breaker = new CircuitBreaker();
  readonly #subscriptions = new SessionSubscriptions();
  readonly #checkLate: SupervisionOptions["checkLate"];
  #description: Description | undefined;
  /** The counters of earlier sessions. */
  #pastStats: UpstreamStats = NO_STATS;
  #logLevel: LogLevel | undefined;
  #publicState: UpstreamState = "reconnecting";
  /** A call of a stdio server has timed out, and the server has answered nothing since. */
  #isSuspect = false;
  /** True when this program stops the instance: no error is the reason. */
  #isClosing = false;

  constructor(options: SupervisionOptions) {
    const { name, policy, requestTimeoutMs, event, changed, busy, open, opened } = options;
    this.name = name;
    this.#logLevel = options.logLevel;
    this.#checkLate = options.checkLate;
    let isRenewed = false;
    this.#runner = new InstanceRunner({
      name,
      policy,
      requestTimeoutMs,
      open: (signal) => open(signal, this.#description),
      attach: (handle, lost) => {
        // The server has just answered.
        this.#breaker.succeeded();
        isRenewed = this.#description !== undefined;
        return this.#attach(handle.upstream, lost);
      },
      attached: (handle) => {
        opened?.(handle, isRenewed);
        if (isRenewed) this.#listsMayDiffer();
      },
      event: (one) => {
        event?.(one);
        if (one === "recovered") this.#listsMayDiffer();
      },
      probe: () => void this.probe().catch(() => {}),
      changed: (state) => {
        changed?.(state);
        this.#emitState(state);
      },
      busy: () => busy?.() === true,
      subscriptions: () => this.#subscriptions.size,
    });
  }

  get state(): InstanceState {
    return this.#runner.state;
  }

  /** The open session while the instance is ready. */
  get live(): Upstream | undefined {
    return this.#runner.live;
  }

  get restarts(): number {
    return this.#runner.restarts;
  }

  get isBusy(): boolean {
    return this.#runner.isBusy;
  }

  /** The last error about the server. */
  get lastFault(): Fault | undefined {
    return this.#runner.lastFault;
  }

  /** True when the last start failed, also during the next attempt, and when the server does not answer. */
  get isDown(): boolean {
    return this.#runner.isDown;
  }

  /** The state before the attempt that runs now, if that attempt follows a failure; otherwise undefined. */
  get retriedState(): "failed" | "blocked" | undefined {
    return this.#runner.retriedState;
  }

  /** The error of calls that are rejected now, with the time of the next attempt. */
  get unavailable(): PortolanError | undefined {
    return this.#runner.unavailable;
  }

  /** Starts the instance unless a start failed a moment ago. Rejects when the start fails. */
  start(): Promise<Upstream> {
    return this.#runner.start();
  }

  /** Like `start`, but also for an instance that failed a moment ago. */
  recheck(): Promise<Upstream> {
    return this.#runner.recheck();
  }

  /** Like `start`, within the time limit of a call. */
  ready(call?: Pick<Call, "timeoutMs" | "signal">): Promise<Upstream> {
    return this.#runner.ready(call);
  }

  describe(): Description {
    // The upstream is given out after its first session was opened.
    return this.#description as Description;
  }

  /** Undefined before the first session was opened. */
  get description(): Description | undefined {
    return this.#description;
  }

  request(call: Call): Promise<JsonObject> {
    const runner = this.#runner;
    const { live } = runner;
    if (live === undefined || !this.#breaker.closed) return this.#requestLater(call, 0);
    runner.inFlight += 1;
    return live
      .request(call)
      .then(this.#answered, (thrown: unknown) => this.#recover(thrown, call, live, BEFORE_FAILURES, 0));
  }

  /**
   * Asks the server of the open session whether it answers, also while the circuit breaker is open. The answer decides whether the
   * server is reachable. Rejects if the server does not answer.
   */
  async probe(): Promise<void> {
    const { live } = this;
    if (live === undefined) throw this.unavailable ?? closedError(this.name);
    const { era, transport } = live.describe();
    this.#breaker.endPause();
    try {
      const method = era === "modern" ? "server/discover" : "ping";
      await this.#requestLater({ method, timeoutMs: PROBE_TIMEOUT_MS }, 0);
    } catch (thrown) {
      const error = toPortolanError(thrown, { server: this.name });
      // An error response is an answer: some servers do not implement ping.
      if (error.code === "RPC_ERROR") return;
      const isSilent = error.code === "TIMEOUT";
      const isDown = isSilent || error.code === "SERVER_UNAVAILABLE" || isServerFailure(error);
      // On other transports, the session of a lost server ends. A server that does not answer may be busy with other calls.
      const isStuck = isSilent && this.#isSuspect && this.#runner.inFlight === 0;
      this.#isSuspect = isStuck;
      if (!isStuck && (transport !== "http" || !isDown)) throw error;
      // A request that succeeds is noticed only after a failure.
      if (isSilent) this.#breaker.failed();
      this.#runner.unreachable(isSilent ? error : (this.lastFault?.error ?? error));
      throw error;
    }
  }

  notify(method: string, params?: JsonObject): void {
    this.live?.notify(method, params);
  }

  /** The subscription is renewed with every new session, and keeps the instance from being idle. */
  async subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#untilReleased(await this.#inSession((live) => this.#subscriptions.add(uri, live)));
  }

  /** Like `subscribe`, but begins with the next session when none is open. */
  keepSubscribed(uri: string): () => Promise<void> {
    return this.#untilReleased(this.#subscriptions.want(uri));
  }

  #untilReleased(release: () => Promise<void>): () => Promise<void> {
    return async () => {
      await release();
      this.#runner.reportQuiet();
    };
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    if (this.live !== undefined) await this.#inSession((live) => live.setLogLevel(level));
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const now = this.#runner.current?.stats() ?? NO_STATS;
    return { ...sumOf(this.#pastStats, now), inFlight: now.inFlight, restarts: this.restarts };
  }

  /** Finishes the calls in flight and rejects others. Resolves when the instance has stopped. */
  drain(): Promise<void> {
    this.#isClosing = true;
    return this.#runner.drain();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#runner.stop();
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reports the end of a call that this instance does not see. */
  otherCallEnded(): void {
    this.#runner.otherCallEnded();
  }

  /** A check without a start has shown that the instance cannot start. */
  checkFailed(error: PortolanError): void {
    this.#runner.checkFailed(error);
  }

  readonly #answered = (result: JsonObject): JsonObject => {
    this.#isSuspect = false;
    this.#runner.callEnded();
    return result;
  };

  /** Runs the function again in a new session when the server has forgotten the open one. */
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
      if (this.#checkLate !== undefined) {
        await this.#checkLate(call);
        live = await this.ready(call);
      }
    } catch (error) {
      this.#breaker.undecided();
      throw error;
    }
    const sentAt = performance.now();
    this.#runner.inFlight += 1;
    try {
      const result = await live.request(call);
      this.#reached();
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
    this.#runner.callEnded();
    const error = toPortolanError(thrown, { server: this.name });
    const isFailure = isServerFailure(error);
    if (isFailure && live.describe().transport === "http") {
      // On other transports a failure ends the session, which the reducer counts.
      this.#runner.lastFault = toFault(error);
      this.#breaker.failed(sentAt);
      if (this.#breaker.isOpen) this.#runner.unreachable(error);
    } else if (error.code === "RPC_ERROR") this.#reached();
    else this.#breaker.undecided();
    if (error.code === "TIMEOUT" && !PROBES.has(call.method)) this.#suspect(live);
    if (call.signal?.aborted === true || this.state.kind === "stopped") throw error;
    if (error.code === "SESSION_LOST" && attempt === 0) return this.#requestLater(call, attempt + 1);
    if (!isFailure || !mayRepeat(error, call) || attempt >= MAX_REPEATS) throw finalError(error, this.name);
    await pause(100 + Math.random() * 300, call.signal);
    return this.#requestLater(call, attempt + 1);
  }

  /** Pings a process after a timeout. Otherwise, a process that is stuck would count as ready until the next call times out. */
  #suspect(live: Upstream): void {
    if (this.#isSuspect || live !== this.live || live.describe().transport !== "stdio") return;
    this.#isSuspect = true;
    this.probe().catch(() => {});
  }

  #reached(): void {
    this.#isSuspect = false;
    this.#breaker.succeeded();
    this.#runner.reachable();
  }

  /** The server may be another process than before. */
  #listsMayDiffer(): void {
    for (const list of LIST_EVENTS) this.#emitter.emit(list);
  }

  #attach(upstream: Upstream, lost: (error: PortolanError) => void): () => void {
    const forward = (event: keyof UpstreamEvents): (() => void) =>
      upstream.on(event, (...args) => this.#emitter.emit(event, ...args));
    const offs = [
      ...FORWARDED_EVENTS.map(forward),
      upstream.on("stateChanged", (state, reason) => {
        if (state !== "ready" && state !== "reconnecting") lost(reason ?? closedError(this.name));
      }),
    ];
    this.#description = upstream.describe();
    if (this.#logLevel !== undefined) upstream.setLogLevel(this.#logLevel).catch(() => {});
    this.#subscriptions.renew(upstream);
    return () => {
      for (const off of offs) off();
      this.#pastStats = sumOf(this.#pastStats, upstream.stats());
      this.#subscriptions.detach(upstream);
    };
  }

  #emitState(state: InstanceState): void {
    const shown = publicStateOf(state);
    if (shown === undefined || shown === this.#publicState) return;
    this.#publicState = shown;
    const isFault = shown !== "ready" && !(shown === "closed" && this.#isClosing);
    this.#emitter.emit("stateChanged", shown, isFault ? this.lastFault?.error : undefined);
  }
}

/** Adds the counters of the open session to those of earlier ones. */
function sumOf(past: UpstreamStats, now: UpstreamStats): UpstreamStats {
  return {
    inFlight: now.inFlight,
    lateAnswers: past.lateAnswers + now.lateAnswers,
    unknownAnswers: past.unknownAnswers + now.unknownAnswers,
    noise: past.noise + now.noise,
    declined: past.declined + now.declined,
    ambiguous: (past.ambiguous ?? 0) + (now.ambiguous ?? 0),
    restarts: now.restarts,
    eraProbes: past.eraProbes + now.eraProbes,
  };
}
