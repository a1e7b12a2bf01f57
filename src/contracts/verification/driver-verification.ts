// Verification of one driver: acquires its servers, each of which is verified by itself, and combines their states.

import { type Diagnostic, isPortolanError, type Report } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import { explainingLine } from "../../process/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { fail, type Failure, toFailure } from "../dispatch/failure.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";
import { overallState } from "../driver/driver-state.ts";
import { isPersonal, processKey } from "../driver/process-key.ts";
import { type Comparison, NO_COMPARISON } from "./compare-server.ts";
import { ServerProcess } from "./server-process.ts";
import { type SettledState, UNVERIFIED } from "./verification.ts";

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
  /** It is refused because its code did not run. */
  readonly hasNoCode?: boolean;
  /** Routing or the lists may have changed. */
  readonly changed: () => void;
  /** A server matches the bindings. */
  readonly verified: () => void;
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
  #starting = 0;
  /** False when no process has a tool that must not be called, which is what most calls ask. */
  hasWithheld = false;

  constructor(options: DriverVerificationOptions) {
    this.#options = options;
    const { refusal, hasNoCode } = options;
    this.#overall =
      refusal === undefined ? UNVERIFIED : { kind: "refused", reason: refusal, isPaused: false, hasNoCode };
    this.#diagnostics = options.diagnostics;
  }

  /** State of the driver for callers without a process of their own. */
  get overall(): SettledState {
    return this.#overall;
  }

  /** Whether a server is being started or compared now. */
  get isStarting(): boolean {
    return this.#starting > 0;
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

  /** The servers that run, as far as is known. */
  get servers(): readonly Upstream[] {
    return [...this.#processes.values()].flatMap(({ upstream }) => upstream ?? []);
  }

  /** A caller's own process counts; the processes of others count only as long as the caller has none. */
  stateFor(context: CallContext): SettledState {
    const { refusal, driver, hooks } = this.#options;
    if (refusal !== undefined) return this.#overall;
    const own = this.#processes.get(this.#keyOf(context))?.state ?? UNVERIFIED;
    if (own.kind !== "unverified") return own;
    const overall = this.#overall;
    if (overall.kind !== "unavailable" && overall.kind !== "retryDue") return overall;
    // That the process of another user does not start, or lacks a secret, says little about this one.
    return !overall.fault.isFinal && isPersonal(driver, hooks) ? UNVERIFIED : overall;
  }

  /** The tools that must not be called for this caller, and the reason. */
  withheldFor(context: CallContext): ReadonlyMap<string, string> {
    return (this.#processes.get(this.#keyOf(context))?.comparison ?? this.#comparison).withheld;
  }

  /** The approved tools have changed. */
  compareAgain(): void {
    for (const process of this.#processes.values()) process.compareAgain();
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
      : this.#acquireCounted(coming, who);
  }

  async #acquireCounted(coming: Upstream | Promise<Upstream>, who: Acquirer): Promise<Upstream> {
    this.#starting += 1;
    try {
      return await this.#acquireLater(coming, who);
    } finally {
      this.#starting -= 1;
    }
  }

  async #acquireLater(coming: Upstream | Promise<Upstream>, who: Acquirer): Promise<Upstream> {
    let upstream: Upstream;
    try {
      upstream = await coming;
    } catch (thrown) {
      throw this.#startFailed(who, thrown);
    }
    // The state of a driver that was released is of no interest.
    const mismatch = this.#isClosed
      ? (await this.#options.compare(upstream)).mismatch
      : await this.#processOf(who.context).verify(upstream, who);
    if (mismatch === undefined) return upstream;
    // The mismatch itself begins with the id of the driver.
    throw fail("tool_unavailable", `the server does not match its contracts: ${mismatch}`, {
      retryable: false,
    });
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
  async reverify(who: Acquirer): Promise<void> {
    if (this.#options.refusal === undefined)
      await this.#processOf(who.context).recheck(() => this.acquire(who));
  }

  /** Ends all subscriptions and timers. Calls that selected this driver before may still use it. */
  close(): void {
    this.#isClosed = true;
    for (const process of this.#processes.values()) process.close();
    this.#processes.clear();
  }

  #startFailed({ context }: Acquirer, thrown: unknown): Failure {
    const failure = toFailure(thrown);
    if (this.#options.refusal === undefined && !this.#isClosed) this.#processOf(context).startFailed(failure);
    return failure;
  }

  #processOf(context: CallContext): ServerProcess {
    const key = this.#keyOf(context);
    const known = this.#processes.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#processes;
    if (this.#processes.size >= MAX_PROCESSES && oldest !== undefined) {
      this.#processes.delete(oldest[0]);
      oldest[1].close();
    }
    const { driver, compare } = this.#options;
    const process = new ServerProcess({
      driver,
      compare,
      setUsable: (upstream, isUsable) =>
        isUsable ? this.#usable.add(upstream) : this.#usable.delete(upstream),
      changed: (before, after) => this.#changed(before, after),
      compared: (result, before) => this.#compared(result, before),
    });
    this.#processes.set(key, process);
    return process;
  }

  #keyOf(context: CallContext): string {
    return processKey(this.#options.driver, context, this.#options.hooks);
  }

  #changed(before: SettledState, after: SettledState): void {
    if (before === after) return;
    const { overall } = this;
    this.#summarize();
    if (!isSame(before, after) || !isSame(overall, this.#overall)) this.#options.changed();
  }

  #compared(result: Comparison, before: Comparison | undefined): () => void {
    const { driver, report, verified, changed } = this.#options;
    const known = [...this.#diagnostics, ...(before?.diagnostics ?? [])];
    const isMatch = result.mismatch === undefined;
    if (isMatch) this.#match = result;
    const hasOtherTools = !isSameMap(result.withheld, before?.withheld ?? NO_COMPARISON.withheld);
    return () => {
      this.hasWithheld = [...this.#processes.values()].some(({ comparison }) => comparison?.withheld.size);
      if (isMatch) verified();
      for (const diagnostic of result.diagnostics)
        if (!known.some(({ message }) => message === diagnostic.message)) report(diagnostic);
      if (hasOtherTools || driver.prompts.length + driver.resources.length > 0) changed();
    };
  }

  #summarize(): void {
    const processes = [...this.#processes.values()];
    const { state, index } = overallState(processes.map((process) => process.state));
    this.#overall = state;
    const comparison = processes[index]?.comparison;
    if (comparison === undefined || (state.kind !== "verified" && state.kind !== "refused")) return;
    this.#comparison = comparison;
    this.#diagnostics = [...this.#options.conflicts, ...comparison.diagnostics];
  }
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** True when routing reads the same from both. */
function isSame(a: SettledState, b: SettledState): boolean {
  if (a.kind === "verified") return b.kind === "verified";
  if (a.kind === "refused") return b.kind === "refused" && a.reason === b.reason;
  return a === b || (a.kind === "unverified" && b.kind === "unverified");
}

function unavailable(driver: string, { error }: Failure): Diagnostic {
  const cause = isPortolanError(error.cause) ? error.cause : undefined;
  const exit = { code: cause?.data.exitCode, signal: cause?.data.signal };
  const line = explainingLine(cause?.stderr ?? "", exit)?.slice(0, 200);
  const isNew = line !== undefined && !error.message.includes(line);
  const stderr = isNew ? ` (stderr: ${line})` : "";
  return {
    code: "SERVER_UNAVAILABLE",
    severity: "warning",
    server: driver,
    message: `the driver ${driver} cannot be used now (${error.code}): ${error.message}${stderr}`,
    hint: cause?.hint,
  };
}
