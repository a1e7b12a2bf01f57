// Runs the verification of one process of a driver's server: carries out the effects of the reducer and follows the server's events.

import type { PortolanError } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import { type Upstream, type UpstreamState, within } from "../../upstream/index.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { type Failure, toFailure } from "../dispatch/failure.ts";
import type { Comparison } from "./compare-server.ts";
import {
  isPaused,
  NEW_VERIFICATION,
  reduceVerification,
  type ServerFault,
  type SettledState,
  settledOf,
  toServerFault,
  type Verification,
  type VerificationEvent,
} from "./verification.ts";

export interface ServerProcessOptions {
  readonly driver: Driver;
  readonly compare: (upstream: Upstream) => Promise<Comparison>;
  /** Calls may use this server at once from now on, or not any more. */
  readonly setUsable: (upstream: Upstream, isUsable: boolean) => void;
  /** Called after every event. */
  readonly changed: (before: SettledState, after: SettledState) => void;
  /** A comparison ended and counts. Called before the state changes; returns a function that is called afterwards. */
  readonly compared: (result: Comparison, before: Comparison | undefined) => () => void;
}

export class ServerProcess {
  readonly #options: ServerProcessOptions;
  #verification: Verification = NEW_VERIFICATION;
  #upstream: Upstream | undefined;
  /** Ends the subscriptions to the events of the server. */
  #unsubscribe: () => void = NOTHING;
  /** The last comparison that was begun, and the result of the last one that counts. */
  #comparing: Promise<Comparison> | undefined;
  #comparison: Comparison | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** A verification in the background. */
  #recheck: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  get state(): SettledState {
    return settledOf(this.#verification.state);
  }

  /** The server whose events are followed. */
  get upstream(): Upstream | undefined {
    return this.#upstream;
  }

  get comparison(): Comparison | undefined {
    return this.#comparison;
  }

  /** Returns how the server differs from its bindings; undefined when it matches. */
  async verify(upstream: Upstream, { time, signal }: Acquirer): Promise<string | undefined> {
    const isNew = this.#upstream !== upstream;
    const { isKnown } = this.#verification;
    if (isNew) this.#attach(upstream);
    this.#apply({ type: "acquired", isNew });
    const { state } = this.#verification;
    if (state.kind === "refused") return state.reason;
    if (state.kind !== "verifying" || this.#comparing === undefined) return undefined;
    if (isNew || !isKnown || time === undefined) return (await this.#comparing).mismatch;
    // The server runs: this is not a start, and takes from the time of the call.
    const begun = performance.now();
    try {
      const ms = Math.max(1, Math.ceil(time.left));
      const server = this.#options.driver.id;
      const limits = { server, what: "comparing its tools with the bindings", ms, signal };
      return (await within(this.#comparing, limits)).mismatch;
    } finally {
      time.left -= performance.now() - begun;
    }
  }

  /** Compares the running server again. Calls wait for it. */
  compareAgain(): void {
    if (this.#upstream !== undefined) this.#apply({ type: "listsChanged" });
  }

  startFailed(failure: Failure): void {
    this.#apply({ type: "startFailed", fault: this.#faultOf(failure) });
  }

  /** Runs a verification in the background, one at a time. Never rejects. */
  recheck(acquire: () => unknown): Promise<void> {
    this.#recheck ??= this.#runRecheck(acquire);
    return this.#recheck;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.#detach();
  }

  async #runRecheck(acquire: () => unknown): Promise<void> {
    try {
      await acquire();
    } catch {
      // The failure is recorded in the state.
    } finally {
      this.#recheck = undefined;
      this.#apply({ type: "recheckEnded" });
    }
  }

  /** The only place where the state changes. */
  #apply(event: VerificationEvent): void {
    if (this.#isClosed) return;
    const before = this.state;
    const [next, effects] = reduceVerification(this.#verification, event);
    this.#verification = next;
    for (const effect of effects)
      if (effect.type === "compare") this.#begin(effect.comparison);
      else if (effect.type === "pause") this.#startPause(effect.ms);
      else this.#detach();
    if (!isPaused(this.state)) clearTimeout(this.#pause);
    const { kind } = next.state;
    if (this.#upstream !== undefined)
      this.#options.setUsable(this.#upstream, kind === "verified" && next.state.isCurrent);
    this.#options.changed(before, this.state);
  }

  #begin(comparison: number): void {
    if (this.#upstream === undefined) return;
    this.#comparing = this.#compare(this.#upstream, comparison);
    // A caller that waits for it gets the error; a change of the lists has no caller.
    this.#comparing.catch(() => {});
  }

  async #compare(upstream: Upstream, comparison: number): Promise<Comparison> {
    let result: Comparison;
    try {
      result = await this.#options.compare(upstream);
    } catch (thrown) {
      const failure = toFailure(thrown);
      this.#apply({ type: "comparisonFailed", comparison, fault: this.#faultOf(failure) });
      throw failure;
    }
    if (this.#verification.comparisons !== comparison || this.#isClosed) return result;
    const finish = this.#options.compared(result, this.#comparison);
    this.#comparison = result;
    const { mismatch } = result;
    this.#apply({ type: "compared", comparison, mismatch, isRunning: this.#upstream === upstream });
    finish();
    return result;
  }

  #startPause(ms: number): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#apply({ type: "pauseOver" }), ms).unref();
  }

  #attach(upstream: Upstream): void {
    this.#detach();
    this.#upstream = upstream;
    const listsChanged = (): void => this.#apply({ type: "listsChanged" });
    const stops = [
      upstream.on("toolsChanged", listsChanged),
      upstream.on("promptsChanged", listsChanged),
      ...(this.#options.driver.resources.length > 0 ? [upstream.on("resourcesChanged", listsChanged)] : []),
      upstream.on("stateChanged", (state, reason) => this.#stateChanged(state, reason)),
    ];
    this.#unsubscribe = () => stops.forEach((stop) => stop());
  }

  #detach(): void {
    this.#unsubscribe();
    this.#unsubscribe = NOTHING;
    if (this.#upstream !== undefined) this.#options.setUsable(this.#upstream, false);
    this.#upstream = undefined;
  }

  /** A lost server changes the state before the next call is routed. */
  #stateChanged(state: UpstreamState, reason: PortolanError | undefined): void {
    if (state === "ready") return;
    const fault = reason === undefined || state === "closed" ? undefined : this.#faultOf(toFailure(reason));
    if (fault === undefined) this.#apply({ type: "serverEnded", isGone: state !== "reconnecting" });
    else this.#apply({ type: state === "failed" ? "serverFailed" : "sessionLost", fault });
  }

  #faultOf(failure: Failure): ServerFault {
    return toServerFault(failure, this.#options.driver.id);
  }
}

const NOTHING = (): void => {};
