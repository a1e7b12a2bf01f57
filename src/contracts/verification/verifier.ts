// Servers of drivers got hold of and looked at: whether each has what its driver promises, again whenever it changes, and left alone for a while when it fails.

import { isPortolanError, type PortolanError, type Report } from "../../errors/index.ts";
import type { Driver, DriverErrorCode } from "../../model/index.ts";
import { type Upstream, type UpstreamState, within } from "../../upstream/index.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { fail, type Failure, toFailure } from "../dispatch/failure.ts";
import type { Look } from "./compare-server.ts";
import { ProcessPauses } from "./process-pauses.ts";
import {
  type DriverProcess,
  judge,
  keyFor,
  processOf,
  type Registered,
  type ServerCheck,
  type ServerStatus,
  statusFor,
  statusOfKey,
  type Verdict,
} from "../driver/registered-driver.ts";

/** How a driver's server is got hold of, started if need be; the same one for whoever may share it. */
export type Acquire = (driver: Driver, who: Acquirer) => Upstream | Promise<Upstream>;

export interface ServerChecksOptions {
  readonly acquire: Acquire;
  readonly look: Look;
  readonly report: Report;
  /** Whether anybody is interested in this driver still. */
  readonly isCurrent: (registered: Registered) => boolean;
  /** Something that routing or the lists depend on is not what it was. */
  readonly changed: () => void;
  /** A server of it was found to fit. */
  readonly fits: (registered: Registered) => void;
}

/** These say something about the driver, not about one caller. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "tool_unavailable",
  "install_failed",
  "version_mismatch",
  "upstream_error",
]);
/** These say nothing about it: somebody has left, or may not have its secrets. */
const NOT_ITS_FAULT: ReadonlySet<string> = new Set(["cancelled", "unauthorised"]);

export class ServerChecks {
  readonly #options: ServerChecksOptions;
  readonly #pauses: ProcessPauses;

  constructor(options: ServerChecksOptions) {
    this.#options = options;
    this.#pauses = new ProcessPauses(options);
  }

  /** The live server, which is known to fit; at once when it runs already, since every call comes by here. */
  acquire(registered: Registered, who: Acquirer): Upstream | Promise<Upstream> {
    let coming: Upstream | Promise<Upstream>;
    try {
      coming = this.#options.acquire(registered.driver, who);
    } catch (thrown) {
      throw this.#unreachable(registered, keyFor(registered, who.context), toFailure(thrown));
    }
    if (coming instanceof Promise) return this.#acquireLater(registered, coming, who);
    return registered.checks.get(coming)?.fits === true
      ? coming
      : this.#acquireLater(registered, coming, who);
  }

  async #acquireLater(
    registered: Registered,
    coming: Upstream | Promise<Upstream>,
    { context, time, signal }: Acquirer,
  ): Promise<Upstream> {
    const key = keyFor(registered, context);
    let upstream: Upstream;
    try {
      upstream = await coming;
    } catch (thrown) {
      throw this.#unreachable(registered, key, toFailure(thrown));
    }
    const known = registered.checks.get(upstream);
    let verdict: Verdict;
    if (known?.seen !== true || time === undefined) verdict = await this.#checked(registered, upstream, key);
    else {
      // It runs: looking at it again is not starting it, and takes from the time of the call.
      const begun = performance.now();
      const what = "looking at its tools again";
      const ms = Math.max(1, Math.ceil(time.left));
      try {
        const check = this.#checked(registered, upstream, key);
        verdict = await within(check, { server: registered.driver.id, what, ms, signal });
      } finally {
        time.left -= performance.now() - begun;
      }
    }
    if (verdict.server === "refused") throw misfit(registered, verdict);
    return upstream;
  }

  /** Looks at one that failed before, without a word. Never fails. */
  lookAgain(registered: Registered, who: Acquirer): Promise<void> {
    const process = processOf(registered, keyFor(registered, who.context));
    process.looking ??= this.probe(registered, who, false).finally(() => {
      process.looking = undefined;
      const { held } = process;
      // Whatever it was, it is not well: nor is it looked at with every call.
      if (held?.again === true && this.#options.isCurrent(registered))
        this.#pauses.begin(registered, process, { ...held, server: "unreachable", again: undefined });
    });
    return process.looking;
  }

  /** Looks at the server now, so that what does not fit is known before the first call. Never fails. */
  async probe(registered: Registered, who: Acquirer, told = true): Promise<void> {
    if (registered.broken) return;
    try {
      await this.acquire(registered, who);
    } catch (thrown) {
      if (!told) return;
      const { isCurrent, report } = this.#options;
      // What does not fit was told by itself, and what is not there any more is of no interest.
      if (statusFor(registered, who.context).server === "refused" || !isCurrent(registered)) return;
      const { error } = toFailure(thrown);
      const cause = isPortolanError(error.cause) ? error.cause : undefined;
      const lastWords = cause?.stderr?.trim().split("\n").at(-1)?.slice(0, 300);
      const more = lastWords === undefined ? "" : ` (it said: ${lastWords})`;
      report({
        code: "SERVER_UNAVAILABLE",
        severity: "warning",
        server: registered.driver.id,
        message: `the driver ${registered.driver.id} cannot be used now (${error.code}): ${error.message}${more}`,
        hint: cause?.hint,
      });
    }
  }

  /** Nothing of its servers is known any more, nor heard. */
  forgetAll(registered: Registered): void {
    for (const upstream of [...registered.checks.keys()]) this.#forget(registered, upstream);
    registered.processes.clear();
  }

  close(): void {
    this.#pauses.close();
  }

  #checked(registered: Registered, upstream: Upstream, key: string): Promise<Verdict> {
    // Nobody would hear of its changes, nor stop listening to them.
    if (!this.#options.isCurrent(registered)) return this.#look(registered, upstream, key, () => false);
    const { checks } = registered;
    processOf(registered, key).upstream = upstream;
    const known = checks.get(upstream);
    if (known !== undefined)
      return known.failed ? this.#lookAgain(registered, upstream, key, known) : known.check;
    const again = (): void => {
      // Whoever waits for it hears when it fails.
      if (checks.get(upstream) === entry) void this.#lookAgain(registered, upstream, key, entry);
    };
    const stops = [
      upstream.on("toolsChanged", again),
      upstream.on("promptsChanged", again),
      ...(registered.driver.resources.length > 0 ? [upstream.on("resourcesChanged", again)] : []),
      upstream.on("stateChanged", (state, reason) => this.#stateChanged(registered, upstream, state, reason)),
    ];
    const stop = (): void => stops.forEach((one) => one());
    const entry: ServerCheck = {
      check: NEVER,
      fits: false,
      failed: false,
      verdict: undefined,
      seen: false,
      stop,
    };
    checks.set(upstream, entry);
    return this.#lookAgain(registered, upstream, key, entry);
  }

  /** Only the last look counts: an earlier one may answer later. */
  #lookAgain(registered: Registered, upstream: Upstream, key: string, entry: ServerCheck): Promise<Verdict> {
    entry.fits = false;
    entry.failed = false;
    const isLast = (): boolean => entry.check === check;
    const check: Promise<Verdict> = this.#look(registered, upstream, key, isLast);
    entry.check = check;
    check.then(
      ({ server }) => {
        if (isLast()) entry.fits = server === "fits";
      },
      () => {
        if (!isLast() || registered.checks.get(upstream) !== entry) return;
        if (!entry.seen) return this.#forget(registered, upstream);
        // Whoever needs it next looks again, and so does whoever hears of another change.
        entry.failed = true;
        this.#unsure(registered, upstream, entry);
      },
    );
    return check;
  }

  async #look(
    registered: Registered,
    upstream: Upstream,
    key: string,
    isLast: () => boolean,
  ): Promise<Verdict> {
    const { look, report, isCurrent, changed } = this.#options;
    let seen: Awaited<ReturnType<Look>>;
    try {
      seen = await look(registered, upstream);
    } catch (thrown) {
      const failure = toFailure(thrown);
      // One that has worked may have been slow for once.
      const isNew = registered.checks.get(upstream)?.seen !== true;
      throw isLast() ? this.#unreachable(registered, key, failure, isNew) : failure;
    }
    const { verdict, prompts, lacks } = seen;
    const entry = registered.checks.get(upstream);
    if (entry === undefined || !isLast() || !isCurrent(registered)) return verdict;
    const told = [...registered.problems, ...(entry.verdict?.problems ?? [])];
    const news = verdict.problems.filter(({ message }) => !told.some((old) => old.message === message));
    const before = [registered.server, statusOfKey(registered, key).server];
    entry.verdict = verdict;
    entry.seen = true;
    const process = processOf(registered, key);
    process.held = undefined;
    if (verdict.server === "fits") {
      process.failures = 0;
      registered.prompts = prompts;
      registered.lacks = lacks;
      this.#options.fits(registered);
    }
    judge(registered);
    for (const problem of news) report(problem);
    const isOther = before[0] !== registered.server || before[1] !== statusOfKey(registered, key).server;
    const { prompts: declared, resources } = registered.driver;
    if (isOther || declared.length + resources.length > 0) changed();
    return verdict;
  }

  #unreachable(registered: Registered, key: string, failure: Failure, isNew = true): Failure {
    const { code } = failure.error;
    if (isNew ? NOT_ITS_FAULT.has(code) : !UNREACHABLE.has(code)) return failure;
    if (registered.broken || !this.#options.isCurrent(registered)) return failure;
    const process = processOf(registered, key);
    const { held } = process;
    // Many may have waited for the same start.
    if (held !== undefined && held.server !== "refused" && held.again !== true) return failure;
    this.#pauses.begin(registered, process, statusAfter(failure, registered.driver.id));
    return failure;
  }

  /** A lost server changes its driver's state before the next call is routed: while it restarts, it is the last resort. */
  #stateChanged(
    registered: Registered,
    upstream: Upstream,
    state: UpstreamState,
    reason: PortolanError | undefined,
  ): void {
    const entry = registered.checks.get(upstream);
    if (state === "ready" || entry === undefined) return;
    if (reason !== undefined && state !== "closed")
      for (const process of registered.processes.values())
        if (process.upstream === upstream) this.#lost(registered, process, state, reason);
    if (state === "reconnecting") {
      entry.fits = false;
      this.#unsure(registered, upstream, entry);
    } else this.#forget(registered, upstream);
  }

  #lost(registered: Registered, process: DriverProcess, state: UpstreamState, reason: PortolanError): void {
    if (registered.broken || !this.#options.isCurrent(registered)) return;
    const status = statusAfter(toFailure(reason), registered.driver.id);
    if (state === "failed") this.#pauses.begin(registered, process, status);
    else process.held = { ...status, server: "unchecked", again: true };
  }

  /** One that did not fit may do so when it is started the next time. */
  #forget(registered: Registered, upstream: Upstream): void {
    const entry = registered.checks.get(upstream);
    if (entry === undefined) return;
    entry.stop();
    registered.checks.delete(upstream);
    if (!this.#options.isCurrent(registered)) return;
    this.#unsure(registered, upstream, entry);
    for (const [key, process] of registered.processes) {
      if (process.upstream !== upstream) continue;
      process.upstream = undefined;
      if (process.failures === 0) registered.processes.delete(key);
    }
  }

  /** What was found of it does not count any more; what did not fit is left alone for a while. */
  #unsure(registered: Registered, upstream: Upstream, entry: ServerCheck): void {
    const { verdict } = entry;
    entry.verdict = undefined;
    if (verdict?.server === "refused")
      for (const process of registered.processes.values())
        if (process.upstream === upstream && process.held === undefined)
          this.#pauses.begin(registered, process, { server: "refused", reason: verdict.reason });
    judge(registered);
    this.#options.changed();
  }
}

const NEVER: Promise<never> = new Promise(() => {});

function statusAfter({ error: { code, message, cause } }: Failure, id: string): ServerStatus {
  // Whoever tells it names the driver.
  const reason = message.startsWith(`${id}: `) ? message.slice(id.length + 2) : message;
  // Nobody knows what it is like: it was not even started.
  if (code === "auth_required") return { server: "unchecked", reason, code };
  const known = UNREACHABLE.has(code) && code !== "upstream_error";
  const isElsewhere = isPortolanError(cause) && cause.code === "PLATFORM_UNSUPPORTED";
  return {
    server: "unreachable",
    reason,
    code: known ? (code as DriverErrorCode) : "tool_unavailable",
    final: code === "version_mismatch" || isElsewhere,
  };
}

function misfit({ driver }: Registered, { reason }: Verdict): Failure {
  return fail("tool_unavailable", `${driver.id} does not fit its contracts any more: ${reason ?? ""}`, {
    retryable: false,
  });
}
