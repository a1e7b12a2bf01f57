// Runs the verification of one driver: acquires its servers, compares each with the bindings, and reports changes of its state.

import { type Diagnostic, isPortolanError, type PortolanError, type Report } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import { type Upstream, type UpstreamState, within } from "../../upstream/index.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { fail, type Failure, toFailure } from "../dispatch/failure.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";
import { overallState } from "../driver/driver-state.ts";
import { isPersonal, processKey } from "../driver/process-key.ts";
import { type Comparison, NO_COMPARISON } from "./compare-server.ts";
import {
  isPaused,
  NEW_VERIFICATION,
  reduceVerification,
  type ServerFault,
  type SettledState,
  settledOf,
  toServerFault,
  UNVERIFIED,
  type Verification,
  type VerificationEvent,
} from "./verification.ts";

/** Gives a driver's server, started if need be; the same one to all callers that may share it. */
export type Acquire = (driver: Driver, who: Acquirer) => Upstream | Promise<Upstream>;

export interface DriverVerificationOptions {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  readonly acquire: Acquire;
  readonly compare: (upstream: Upstream) => Promise<Comparison>;
  readonly report: Report;
  /** Diagnostics about the driver's file. */
  readonly diagnostics: readonly Diagnostic[];
  /** The diagnostics among them that a comparison with the server does not repeat. */
  readonly conflicts: readonly Diagnostic[];
  /** The file does not match its contracts: the driver is refused for good. */
  readonly refusal: string | undefined;
  /** Routing or the lists may have changed. */
  readonly changed: () => void;
  /** A server matches the bindings. */
  readonly verified: () => void;
}

/** One process of the driver's server. */
interface ServerProcess {
  verification: Verification;
  upstream: Upstream | undefined;
  /** Ends the subscriptions to the events of the server. */
  detach: () => void;
  /** The last comparison that was begun. */
  comparing: Promise<Comparison> | undefined;
  /** Result of the last comparison. */
  comparison: Comparison | undefined;
  pause: NodeJS.Timeout | undefined;
  /** A verification in the background. */
  recheck: Promise<void> | undefined;
}

const MAX_PROCESSES = 1_000;

export class DriverVerification {
  readonly #options: DriverVerificationOptions;
  /** By process key. */
  readonly #processes = new Map<string, ServerProcess>();
  /** Servers that calls may use at once. */
  readonly #usable = new Set<Upstream>();
  #overall: SettledState;
  /** Result of the comparison that the overall state comes from, and of the last match. */
  #comparison = NO_COMPARISON;
  #match = NO_COMPARISON;
  #diagnostics: readonly Diagnostic[];
  #isClosed = false;

  constructor(options: DriverVerificationOptions) {
    this.#options = options;
    const { refusal } = options;
    this.#overall =
      refusal === undefined ? UNVERIFIED : { kind: "refused", reason: refusal, isPaused: false };
    this.#diagnostics = options.diagnostics;
  }

  /** State of the driver for callers without a process of their own. */
  get overall(): SettledState {
    return this.#overall;
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics;
  }

  /** Protocol revision that was negotiated with the server that was compared last. */
  get revision(): string | undefined {
    return this.#comparison.revision;
  }

  /** Prompts that the server listed, and the declared prompts and resources that it lacks. */
  get surfaces(): Pick<Comparison, "prompts" | "missing"> {
    return this.#match;
  }

  /** The servers whose events are followed. */
  get servers(): readonly Upstream[] {
    return Array.from(this.#processes.values(), ({ upstream }) => upstream).filter(
      (one) => one !== undefined,
    );
  }

  /** A caller's own process counts; the processes of others count only as long as the caller has none. */
  stateFor(context: CallContext): SettledState {
    const { refusal, driver, hooks } = this.#options;
    if (refusal !== undefined) return this.#overall;
    const own = this.#processes.get(this.#keyOf(context));
    const state = own === undefined ? UNVERIFIED : settledOf(own.verification.state);
    if (state.kind !== "unverified") return state;
    const { kind } = this.#overall;
    if (kind !== "unavailable" && kind !== "retryDue") return this.#overall;
    // That the process of another user does not start, or lacks a secret, says little about this one.
    return !this.#overall.fault.isFinal && isPersonal(driver, hooks) ? UNVERIFIED : this.#overall;
  }

  /** The live server, verified. At once when it runs already, since every call comes by here. */
  acquire(who: Acquirer): Upstream | Promise<Upstream> {
    let coming: Upstream | Promise<Upstream>;
    try {
      coming = this.#options.acquire(this.#options.driver, who);
    } catch (thrown) {
      throw this.#startFailed(who, thrown);
    }
    return !(coming instanceof Promise) && this.#usable.has(coming)
      ? coming
      : this.#acquireLater(coming, who);
  }

  async #acquireLater(coming: Upstream | Promise<Upstream>, who: Acquirer): Promise<Upstream> {
    let upstream: Upstream;
    try {
      upstream = await coming;
    } catch (thrown) {
      throw this.#startFailed(who, thrown);
    }
    const mismatch = await this.#verified(upstream, who);
    if (mismatch !== undefined)
      throw fail(
        "tool_unavailable",
        `${this.#options.driver.id}: the server does not match its contracts any more: ${mismatch}`,
        { retryable: false },
      );
    return upstream;
  }

  /** Starts the server and compares it now, so that a mismatch is known before the first call. Never rejects. */
  async verify(who: Acquirer): Promise<void> {
    if (this.#options.refusal !== undefined) return;
    try {
      await this.acquire(who);
    } catch (thrown) {
      // A mismatch was reported by itself.
      if (this.stateFor(who.context).kind !== "refused" && !this.#isClosed)
        this.#options.report(unavailable(this.#options.driver.id, toFailure(thrown)));
    }
  }

  /** Verifies a server again that failed before, without a report. Never rejects. */
  reverify(who: Acquirer): Promise<void> {
    const process = this.#processOf(who.context);
    process.recheck ??= this.#reverify(process, who);
    return process.recheck;
  }

  /** Ends all subscriptions and timers. Calls that chose this driver before may still use it. */
  close(): void {
    this.#isClosed = true;
    for (const process of this.#processes.values()) this.#drop(process);
    this.#processes.clear();
    this.#usable.clear();
  }

  async #reverify(process: ServerProcess, who: Acquirer): Promise<void> {
    try {
      if (this.#options.refusal === undefined) await this.acquire(who);
    } catch {
      // The failure is recorded in the state.
    } finally {
      process.recheck = undefined;
      this.#apply(process, { type: "recheckEnded" });
    }
  }

  /** Returns how the server differs from its bindings; undefined when it matches. */
  async #verified(upstream: Upstream, { context, time, signal }: Acquirer): Promise<string | undefined> {
    // The states of a closed driver are of no interest.
    if (this.#isClosed) return (await this.#options.compare(upstream)).mismatch;
    const process = this.#processOf(context);
    const isNew = process.upstream !== upstream;
    const { isKnown } = process.verification;
    if (isNew) this.#attach(process, upstream);
    this.#apply(process, { type: "acquired", isNew });
    const { state } = process.verification;
    if (state.kind === "refused") return state.reason;
    if (state.kind !== "verifying" || process.comparing === undefined) return undefined;
    if (isNew || !isKnown || time === undefined) return (await process.comparing).mismatch;
    // The server runs: this is not a start, and takes from the time of the call.
    const begun = performance.now();
    try {
      const ms = Math.max(1, Math.ceil(time.left));
      const server = this.#options.driver.id;
      const limits = { server, what: "comparing its tools with the bindings", ms, signal };
      return (await within(process.comparing, limits)).mismatch;
    } finally {
      time.left -= performance.now() - begun;
    }
  }

  async #compare(process: ServerProcess, upstream: Upstream, comparison: number): Promise<Comparison> {
    let result: Comparison;
    try {
      result = await this.#options.compare(upstream);
    } catch (thrown) {
      const failure = toFailure(thrown);
      this.#apply(process, { type: "comparisonFailed", comparison, fault: this.#faultOf(failure) });
      throw failure;
    }
    if (process.verification.comparisons === comparison && !this.#isClosed)
      this.#compared(process, upstream, comparison, result);
    return result;
  }

  #compared(process: ServerProcess, upstream: Upstream, comparison: number, result: Comparison): void {
    const { report, driver, verified, changed } = this.#options;
    const known = [...this.#diagnostics, ...(process.comparison?.diagnostics ?? [])];
    const isRunning = process.upstream === upstream;
    process.comparison = result;
    const { mismatch } = result;
    if (mismatch === undefined) this.#match = result;
    this.#apply(process, { type: "compared", comparison, mismatch, isRunning });
    if (mismatch === undefined) verified();
    for (const diagnostic of result.diagnostics)
      if (!known.some(({ message }) => message === diagnostic.message)) report(diagnostic);
    if (driver.prompts.length + driver.resources.length > 0) changed();
  }

  #startFailed({ context }: Acquirer, thrown: unknown): Failure {
    const failure = toFailure(thrown);
    if (this.#options.refusal === undefined && !this.#isClosed)
      this.#apply(this.#processOf(context), { type: "startFailed", fault: this.#faultOf(failure) });
    return failure;
  }

  /** The only place where a state changes. */
  #apply(process: ServerProcess, event: VerificationEvent): void {
    if (this.#isClosed) return;
    const before = process.verification;
    const [after, effects] = reduceVerification(before, event);
    process.verification = after;
    for (const effect of effects)
      if (effect.type === "compare") this.#begin(process, effect.comparison);
      else if (effect.type === "pause") this.#pause(process, effect.ms);
      else this.#detach(process);
    const settled = settledOf(after.state);
    if (!isPaused(settled)) clearTimeout(process.pause);
    this.#trackUsable(process);
    if (isSame(settledOf(before.state), settled) && event.type !== "compared") return;
    const overall = this.#overall;
    this.#summarize();
    if (!isSame(settledOf(before.state), settled) || !isSame(overall, this.#overall)) this.#options.changed();
  }

  #begin(process: ServerProcess, comparison: number): void {
    const { upstream } = process;
    if (upstream === undefined) return;
    process.comparing = this.#compare(process, upstream, comparison);
    // A caller that waits for it gets the error; a change of the lists has no caller.
    process.comparing.catch(() => {});
  }

  #pause(process: ServerProcess, ms: number): void {
    clearTimeout(process.pause);
    process.pause = setTimeout(() => this.#apply(process, { type: "pauseOver" }), ms).unref();
  }

  #trackUsable({ verification: { state }, upstream }: ServerProcess): void {
    if (upstream === undefined) return;
    if (state.kind === "verified" && state.isCurrent) this.#usable.add(upstream);
    else this.#usable.delete(upstream);
  }

  #summarize(): void {
    const processes = [...this.#processes.values()];
    const { state, index } = overallState(processes.map(({ verification }) => settledOf(verification.state)));
    this.#overall = state;
    const comparison = processes[index]?.comparison;
    if (comparison === undefined || (state.kind !== "verified" && state.kind !== "refused")) return;
    this.#comparison = comparison;
    this.#diagnostics = [...this.#options.conflicts, ...comparison.diagnostics];
  }

  #attach(process: ServerProcess, upstream: Upstream): void {
    this.#detach(process);
    process.upstream = upstream;
    const listsChanged = (): void => this.#apply(process, { type: "listsChanged" });
    const stops = [
      upstream.on("toolsChanged", listsChanged),
      upstream.on("promptsChanged", listsChanged),
      ...(this.#options.driver.resources.length > 0 ? [upstream.on("resourcesChanged", listsChanged)] : []),
      upstream.on("stateChanged", (state, reason) => this.#stateChanged(process, state, reason)),
    ];
    process.detach = () => stops.forEach((stop) => stop());
  }

  #detach(process: ServerProcess): void {
    process.detach();
    process.detach = NOTHING;
    if (process.upstream !== undefined) this.#usable.delete(process.upstream);
    process.upstream = undefined;
  }

  /** A lost server changes the state before the next call is routed. */
  #stateChanged(process: ServerProcess, state: UpstreamState, reason: PortolanError | undefined): void {
    if (state === "ready") return;
    const fault = reason === undefined || state === "closed" ? undefined : this.#faultOf(toFailure(reason));
    if (fault === undefined) this.#apply(process, { type: "serverEnded", isGone: state !== "reconnecting" });
    else this.#apply(process, { type: state === "failed" ? "serverFailed" : "sessionLost", fault });
  }

  #faultOf(failure: Failure): ServerFault {
    return toServerFault(failure, this.#options.driver.id);
  }

  #keyOf(context: CallContext): string {
    return processKey(this.#options.driver, context, this.#options.hooks);
  }

  #processOf(context: CallContext): ServerProcess {
    const key = this.#keyOf(context);
    const known = this.#processes.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#processes;
    if (this.#processes.size >= MAX_PROCESSES && oldest !== undefined) {
      this.#processes.delete(oldest[0]);
      this.#drop(oldest[1]);
    }
    const process: ServerProcess = {
      verification: NEW_VERIFICATION,
      upstream: undefined,
      detach: NOTHING,
      comparing: undefined,
      comparison: undefined,
      pause: undefined,
      recheck: undefined,
    };
    this.#processes.set(key, process);
    return process;
  }

  #drop(process: ServerProcess): void {
    clearTimeout(process.pause);
    this.#detach(process);
  }
}

const NOTHING = (): void => {};

/** Whether routing reads the same from both. */
function isSame(a: SettledState, b: SettledState): boolean {
  if (a.kind === "verified") return b.kind === "verified";
  if (a.kind === "refused") return b.kind === "refused" && a.reason === b.reason;
  return a === b || (a.kind === "unverified" && b.kind === "unverified");
}

function unavailable(driver: string, { error }: Failure): Diagnostic {
  const cause = isPortolanError(error.cause) ? error.cause : undefined;
  const lastLine = cause?.stderr?.trim().split("\n").at(-1)?.slice(0, 300);
  const stderr = lastLine === undefined ? "" : ` (last line on stderr: ${lastLine})`;
  return {
    code: "SERVER_UNAVAILABLE",
    severity: "warning",
    server: driver,
    message: `the driver ${driver} cannot be used now (${error.code}): ${error.message}${stderr}`,
    hint: cause?.hint,
  };
}
