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
import { listAll, type Upstream } from "../upstream/index.ts";
import type { DriverStatus } from "./capability.ts";
import { checkBump } from "./diff.ts";
import type { Acquirer } from "./dispatch.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
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

export interface Registered {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  server: DriverStatus["server"];
  reason: string | undefined;
  code: DriverStatus["code"];
  /** By contract id; what can be called once the server is found to fit. */
  bound: ReadonlyMap<string, BoundTool>;
  problems: readonly Diagnostic[];
  /** Those among them that no look at the server changes. */
  readonly standing: readonly Diagnostic[];
  failures: number;
  /** By its health check only: who happened to start last is not the better one. */
  healthyAt: number | undefined;
  health: DriverStatus["health"];
  /** What the server has beside tools, as last seen. */
  prompts: readonly JsonObject[];
  /** Servers of it that were looked at; there may be one for each user. */
  readonly checks: Map<Upstream, ServerCheck>;
}

interface ServerCheck {
  check: Promise<void>;
  /** It has been looked at, and nothing has changed since. */
  done: boolean;
  readonly stop: () => void;
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
    if (replaced !== undefined) forgetAll(replaced);
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
      failures: 0,
      healthyAt: undefined,
      health: "unknown",
      prompts: [],
      checks: new Map(),
    };
    this.#drivers.set(driver.id, registered);
    for (const problem of problems) this.#options.report(problem);
    this.#options.changed();
    return registered;
  }

  remove(id: string): void {
    const registered = this.#drivers.get(id);
    if (registered === undefined) return;
    this.#drivers.delete(id);
    forgetAll(registered);
    this.#options.changed();
  }

  /** Looks at the server now, so that what does not fit is known before the first call. */
  async probe(registered: Registered, who: Acquirer): Promise<void> {
    if (registered.server === "refused") return;
    try {
      await this.acquire(registered, who);
    } catch (thrown) {
      // What does not fit was told by itself.
      if (isRefused(registered)) return;
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
      throw this.#unreachable(registered, toFailure(thrown));
    }
    if (coming instanceof Promise) return this.#acquireLater(registered, coming);
    const isKnown = registered.server === "fits" && registered.checks.get(coming)?.done === true;
    return isKnown ? coming : this.#acquireLater(registered, coming);
  }

  async #acquireLater(registered: Registered, coming: Upstream | Promise<Upstream>): Promise<Upstream> {
    let upstream: Upstream;
    try {
      upstream = await coming;
    } catch (thrown) {
      throw this.#unreachable(registered, toFailure(thrown));
    }
    await this.#checked(registered, upstream);
    if (registered.server === "refused") throw misfit(registered);
    return upstream;
  }

  close(): void {
    for (const registered of this.#drivers.values()) forgetAll(registered);
    for (const timer of this.#retries) clearTimeout(timer);
    this.#drivers.clear();
  }

  #checked(registered: Registered, upstream: Upstream): Promise<void> {
    const { checks } = registered;
    const known = checks.get(upstream);
    if (known !== undefined) return known.check;
    const again = (): void => {
      const entry = checks.get(upstream);
      if (entry === undefined) return;
      entry.done = false;
      const check = this.#look(registered, upstream);
      entry.check = check;
      check.then(
        () => {
          if (entry.check === check) entry.done = true;
        },
        () => {},
      );
    };
    const stops = [
      upstream.on("toolsChanged", again),
      upstream.on("promptsChanged", again),
      upstream.on("stateChanged", (state) => {
        if (state === "failed" || state === "closed") forget(registered, upstream);
      }),
    ];
    const check = this.#look(registered, upstream);
    const entry = { check, done: false, stop: () => stops.forEach((stop) => stop()) };
    checks.set(upstream, entry);
    check.then(
      () => {
        if (entry.check === check) entry.done = true;
      },
      () => forget(registered, upstream),
    );
    return check;
  }

  async #look(registered: Registered, upstream: Upstream): Promise<void> {
    const { contracts, root, report } = this.#options;
    const { driver, hooks } = registered;
    let tools: readonly ToolDefinition[];
    try {
      tools = (await this.#list(upstream, "tools")) as readonly ToolDefinition[];
      if (driver.prompts.length > 0) registered.prompts = await this.#list(upstream, "prompts");
    } catch (thrown) {
      throw this.#unreachable(registered, toFailure(thrown));
    }
    const { bound, problems } = checkDriver(driver, contracts, tools, { root, hooks });
    const broken = problems.find(({ severity }) => severity === "error");
    const before = registered.server;
    const news = problems.filter(
      ({ message }) => !registered.problems.some((old) => old.message === message),
    );
    registered.problems = [...registered.standing, ...problems];
    registered.server = broken === undefined ? "fits" : "refused";
    registered.reason = broken?.message;
    registered.code = undefined;
    registered.failures = 0;
    if (broken === undefined) registered.bound = byContract(bound);
    for (const problem of news) report(problem);
    if (before !== registered.server || driver.prompts.length > 0) this.#options.changed();
  }

  async #list(upstream: Upstream, what: "tools" | "prompts"): Promise<readonly JsonObject[]> {
    if (what === "prompts" && upstream.describe().capabilities.prompts === undefined) return [];
    const call = { method: `${what}/list`, timeoutMs: LIST_MS };
    const onLoop = (message: string): void =>
      this.#options.report({ code: "PROTOCOL_ERROR", severity: "warning", server: upstream.name, message });
    const { items } = await listAll(upstream, what, call, { maxPages: DEFAULT_LIMITS.maxPages, onLoop });
    return items.filter((item): item is JsonObject => isObject(item) && typeof item.name === "string");
  }

  #unreachable(registered: Registered, failure: Failure): Failure {
    const { code, message } = failure.error;
    if (!UNREACHABLE.has(code) || registered.server === "refused") return failure;
    registered.failures += 1;
    const wait = Math.min(FIRST_RETRY_MS * 2 ** (registered.failures - 1), LONGEST_RETRY_MS);
    registered.server = "unreachable";
    registered.reason = message;
    registered.code = code === "upstream_error" ? "tool_unavailable" : (code as DriverStatus["code"]);
    // From then on it may be chosen again, which finds out whether it is back.
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      if (registered.server !== "unreachable") return;
      registered.server = "unchecked";
      this.#options.changed();
    }, wait).unref();
    this.#retries.add(timer);
    this.#options.changed();
    return failure;
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

/** Asked anew: it may be by now. */
function isRefused({ server }: Registered): boolean {
  return server === "refused";
}

function forget({ checks }: Registered, upstream: Upstream): void {
  checks.get(upstream)?.stop();
  checks.delete(upstream);
}

function forgetAll(registered: Registered): void {
  for (const upstream of [...registered.checks.keys()]) forget(registered, upstream);
}

function byContract(bound: readonly BoundTool[]): ReadonlyMap<string, BoundTool> {
  return new Map(bound.map((one) => [one.contract.id, one]));
}

function misfit({ driver, reason }: Registered): Failure {
  return fail("tool_unavailable", `${driver.id} does not fit its contracts any more: ${reason ?? ""}`, {
    retryable: false,
  });
}
