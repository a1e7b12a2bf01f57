// The drivers that are registered: what each is found to be, looked at again when its server changes. One that does not fit is withdrawn, the others stay.

import { type Diagnostic, type Report, isPortolanError } from "../errors/index.ts";
import {
  type Contract,
  DEFAULT_LIMITS,
  type Driver,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../model/index.ts";
import { listAll, type Upstream, within } from "../upstream/index.ts";
import type { DriverStatus } from "./capability.ts";
import { checkBump } from "./diff.ts";
import type { Acquirer } from "./dispatch.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
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
} from "./registered.ts";
import { checkDriver } from "./registration.ts";
import type { BoundTool, DriverHooks } from "./types.ts";

/** How a driver's server is got hold of, started if need be; the same one for whoever may share it. */
export type Acquire = (driver: Driver, who: Acquirer) => Upstream | Promise<Upstream>;

export interface RegistryOptions {
  readonly contracts: readonly Contract[];
  readonly acquire: Acquire;
  readonly report: Report;
  readonly root: string | undefined;
  /** What becomes of a driver that takes the place of its earlier version without the version that its changes need. Default: `warn`. */
  readonly bumps: "enforce" | "warn" | "off" | undefined;
  /** The drivers as they were registered before this program ran, by id. */
  readonly earlier: ReadonlyMap<string, Driver> | undefined;
  /** Something that routing or the lists depend on is not what it was. */
  readonly changed: () => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const LIST_MS = 30_000;
/** These say something about the driver, not about one caller. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "tool_unavailable",
  "install_failed",
  "version_mismatch",
  "upstream_error",
]);

export class DriverRegistry {
  readonly #options: RegistryOptions;
  readonly #drivers = new Map<string, Registered>();
  readonly #retries = new Set<NodeJS.Timeout>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get(id: string): Registered | undefined {
    return this.#drivers.get(id);
  }

  all(): Iterable<Registered> {
    return this.#drivers.values();
  }

  /** Everything that can be told without the server. */
  add(driver: Driver, hooks: DriverHooks): Registered {
    const replaced = this.#drivers.get(driver.id);
    const { contracts, root } = this.#options;
    const earlier = replaced?.driver ?? this.#options.earlier?.get(driver.id);
    const checked = checkDriver(driver, contracts, undefined, { root, hooks });
    const standing = [
      ...this.#refKindProblems(driver),
      ...(earlier === undefined ? [] : this.#bumpProblems(earlier, driver)),
    ];
    const problems = [...standing, ...checked.problems];
    const broken = problems.find(({ severity }) => severity === "error");
    const registered: Registered = {
      driver,
      hooks,
      server: broken === undefined ? "unchecked" : "refused",
      reason: broken?.message,
      code: undefined,
      bound: byContract(broken === undefined ? checked.bound : []),
      problems,
      standing,
      broken: broken !== undefined,
      healthyAt: undefined,
      health: "unknown",
      prompts: [],
      checks: new Map(),
      processes: new Map(),
    };
    this.#drivers.set(driver.id, registered);
    if (replaced !== undefined) this.#forgetAll(replaced);
    for (const problem of problems) this.#options.report(problem);
    this.#options.changed();
    return registered;
  }

  remove(id: string): void {
    const registered = this.#drivers.get(id);
    if (registered === undefined) return;
    this.#drivers.delete(id);
    this.#forgetAll(registered);
    this.#options.changed();
  }

  /** Looks at the server now, so that what does not fit is known before the first call. */
  async probe(registered: Registered, who: Acquirer): Promise<void> {
    if (registered.broken) return;
    try {
      await this.acquire(registered, who);
    } catch (thrown) {
      // What does not fit was told by itself, and what is not there any more is of no interest.
      if (statusFor(registered, who.context).server === "refused" || !this.#isCurrent(registered)) return;
      const { error } = toFailure(thrown);
      const cause = isPortolanError(error.cause) ? error.cause : undefined;
      const lastWords = cause?.stderr?.trim().split("\n").at(-1)?.slice(0, 300);
      const more = lastWords === undefined ? "" : ` (it said: ${lastWords})`;
      this.#options.report({
        code: "SERVER_UNAVAILABLE",
        severity: "warning",
        server: registered.driver.id,
        message: `the driver ${registered.driver.id} cannot be used now (${error.code}): ${error.message}${more}`,
        hint: cause?.hint,
      });
    }
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

  close(): void {
    const all = [...this.#drivers.values()];
    this.#drivers.clear();
    for (const registered of all) this.#forgetAll(registered);
    for (const timer of this.#retries) clearTimeout(timer);
    this.#retries.clear();
  }

  #isCurrent(registered: Registered): boolean {
    return this.#drivers.get(registered.driver.id) === registered;
  }

  #checked(registered: Registered, upstream: Upstream, key: string): Promise<Verdict> {
    // Nobody would hear of its changes, nor stop listening to them.
    if (!this.#isCurrent(registered)) return this.#look(registered, upstream, key, () => false);
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
      upstream.on("stateChanged", (state) => {
        if (state === "failed" || state === "closed") this.#forget(registered, upstream);
      }),
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
    const { contracts, root, report } = this.#options;
    const { driver, hooks } = registered;
    let tools: readonly ToolDefinition[];
    let prompts: readonly JsonObject[] = [];
    try {
      tools = (await this.#list(upstream, "tools")) as readonly ToolDefinition[];
      if (driver.prompts.length > 0) prompts = await this.#list(upstream, "prompts");
    } catch (thrown) {
      const failure = toFailure(thrown);
      throw isLast() ? this.#unreachable(registered, key, failure) : failure;
    }
    const { problems } = checkDriver(driver, contracts, tools, { root, hooks });
    const broken = problems.find(({ severity }) => severity === "error");
    const verdict: Verdict = {
      server: broken === undefined ? "fits" : "refused",
      reason: broken?.message,
      problems,
    };
    const entry = registered.checks.get(upstream);
    if (entry === undefined || !isLast() || !this.#isCurrent(registered)) return verdict;
    const told = [...registered.problems, ...(entry.verdict?.problems ?? [])];
    const news = problems.filter(({ message }) => !told.some((old) => old.message === message));
    const before = [registered.server, statusOfKey(registered, key).server];
    entry.verdict = verdict;
    entry.seen = true;
    const process = processOf(registered, key);
    process.held = undefined;
    if (broken === undefined) {
      process.failures = 0;
      registered.prompts = prompts;
    }
    judge(registered);
    for (const problem of news) report(problem);
    const isOther = before[0] !== registered.server || before[1] !== statusOfKey(registered, key).server;
    if (isOther || driver.prompts.length > 0) this.#options.changed();
    return verdict;
  }

  async #list(upstream: Upstream, what: "tools" | "prompts"): Promise<readonly JsonObject[]> {
    if (what === "prompts" && upstream.describe().capabilities.prompts === undefined) return [];
    const call = { method: `${what}/list`, timeoutMs: LIST_MS };
    const onLoop = (message: string): void =>
      this.#options.report({ code: "PROTOCOL_ERROR", severity: "warning", server: upstream.name, message });
    const { items } = await listAll(upstream, what, call, { maxPages: DEFAULT_LIMITS.maxPages, onLoop });
    return items.filter((item): item is JsonObject => isObject(item) && typeof item.name === "string");
  }

  #unreachable(registered: Registered, key: string, failure: Failure): Failure {
    const { code, message } = failure.error;
    if (!UNREACHABLE.has(code) || registered.broken || !this.#isCurrent(registered)) return failure;
    const process = processOf(registered, key);
    // Many may have waited for the same start.
    if (process.held?.server === "unreachable") return failure;
    const why = code === "upstream_error" ? "tool_unavailable" : (code as DriverStatus["code"]);
    this.#hold(registered, process, { server: "unreachable", reason: message, code: why });
    return failure;
  }

  /** Leaves a process alone for a while; from then on it may be chosen again, which finds out whether it is well. */
  #hold(registered: Registered, process: DriverProcess, held: ServerStatus): void {
    process.failures += 1;
    const wait = Math.min(FIRST_RETRY_MS * 2 ** (process.failures - 1), LONGEST_RETRY_MS);
    process.held = held;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      if (process.held !== held || !this.#isCurrent(registered)) return;
      process.held = undefined;
      judge(registered);
      this.#options.changed();
    }, wait).unref();
    this.#retries.add(timer);
    judge(registered);
    this.#options.changed();
  }

  /** One that did not fit may do so when it is started the next time. */
  #forget(registered: Registered, upstream: Upstream): void {
    const entry = registered.checks.get(upstream);
    if (entry === undefined) return;
    entry.stop();
    registered.checks.delete(upstream);
    if (!this.#isCurrent(registered)) return;
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
          this.#hold(registered, process, { server: "refused", reason: verdict.reason });
    const before = registered.server;
    judge(registered);
    if (before !== registered.server) this.#options.changed();
  }

  #forgetAll(registered: Registered): void {
    for (const upstream of [...registered.checks.keys()]) this.#forget(registered, upstream);
    registered.processes.clear();
  }

  /** Whoever relied on the version before must not be surprised by what is under the same number now. */
  #bumpProblems(before: Driver, after: Driver): readonly Diagnostic[] {
    const { bumps } = this.#options;
    if (bumps === "off") return [];
    const problems = checkBump(before, after).map((problem) => ({
      ...problem,
      hint: `${problem.hint ?? ""} Or take it as it is, after a look: portolan drivers accept ${after.id}`.trim(),
    }));
    return bumps === "enforce" ? problems : problems.map((problem) => ({ ...problem, severity: "warning" }));
  }

  /** A kind of reference belongs to one driver only. */
  #refKindProblems(driver: Driver): Diagnostic[] {
    const problems: Diagnostic[] = [];
    const own = new Set<string>();
    for (const resource of driver.resources) {
      if (resource.integrateAs !== "ref_kind") continue;
      const kind = resource.refKindId;
      const other = [...this.#drivers.values()].find(
        (one) =>
          one.driver.id !== driver.id &&
          one.server !== "refused" &&
          one.driver.resources.some((its) => its.integrateAs === "ref_kind" && its.refKindId === kind),
      );
      const taken = BASE_KINDS.has(kind)
        ? "is one of the kinds that every host has"
        : other && `is that of ${other.driver.id}`;
      if (taken !== undefined && !own.has(kind))
        problems.push({
          code: "DECLARATION_INVALID",
          severity: "error",
          server: driver.id,
          file: driver.origin.file,
          message: `${driver.id}: the ref_kind_id ${kind} ${taken}`,
          hint: `Take a name of its own, such as mcp_${driver.id.replace(/-mcp$/, "").replace(/[^a-z0-9]+/g, "_")}.`,
        });
      own.add(kind);
    }
    return problems;
  }
}

const BASE_KINDS: ReadonlySet<string> = new Set(
  "local url git github ipfs email operator user persona eth_tx ots".split(" "),
);

const NEVER: Promise<never> = new Promise(() => {});

function byContract(bound: readonly BoundTool[]): ReadonlyMap<string, BoundTool> {
  return new Map(bound.map((one) => [one.contract.id, one]));
}

function misfit({ driver }: Registered, { reason }: Verdict): Failure {
  return fail("tool_unavailable", `${driver.id} does not fit its contracts any more: ${reason ?? ""}`, {
    retryable: false,
  });
}
