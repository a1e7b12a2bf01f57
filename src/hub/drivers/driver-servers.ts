// The servers behind drivers: each is an instance that the first call starts, that callers share who may, and that stops when idle.

import {
  type Acquirer,
  type CallContext,
  type DriverHooks,
  hasLogin,
  processKey,
  type SecretGrants,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type ContractsEndpoint,
  type Driver,
  type Endpoint,
  LEGACY_REVISIONS,
  type LaunchSettings,
  type Limits,
  type ServerDefinition,
  withDriverMode,
} from "../../model/index.ts";
import { resolveEndpoint, Secret, type SecretStore, toSecretError } from "../../secrets/index.ts";
import {
  createLaunchReports,
  type LaunchReports,
  type Lease,
  openSessionUpstream,
  SupervisedUpstream,
  type Upstream,
} from "../../upstream/index.ts";
import { homeFor, withState } from "./login-state.ts";
import type { LeaseOptions } from "../processes/open-session.ts";
import { withPaths } from "./path-arguments.ts";
import type { Heard, Pool } from "../processes/process-pool.ts";

/** A server that nobody used for this long is stopped, unless its driver wants to keep it. */
const IDLE_MS = 5 * 60_000;

/** One instance of a driver's server. */
interface Slot {
  readonly upstream: SupervisedUpstream;
  /** On whose behalf it is started. */
  who: Acquirer;
}

export interface DriverServersOptions {
  readonly lease: LeaseOptions;
  readonly endpoint: ContractsEndpoint;
  readonly limits: Limits;
  readonly grants: SecretGrants;
  readonly heard: Heard;
  /** The code beside drivers, by their ids. */
  readonly hooks?: ReadonlyMap<string, DriverHooks> | undefined;
  readonly idleMs?: number | undefined;
}

/**
 * How often the server of a key was replaced: the pool must not give the old one again. Contracts of one workspace share the pool, and
 * so this.
 */
const RETIRED = new WeakMap<Pool, Map<string, number>>();

export class DriverServers {
  readonly #options: DriverServersOptions;
  readonly #slots = new Map<string, Slot>();
  /** Instances that finish their calls. */
  readonly #draining = new Set<SupervisedUpstream>();
  readonly #retired: Map<string, number>;
  #closing: Promise<void> | undefined;
  /** Empty for drivers whose process depends on who calls. */
  readonly #sharedKeys = new WeakMap<Driver, string>();

  constructor(options: DriverServersOptions) {
    this.#options = options;
    const { pool } = options.lease;
    this.#retired = RETIRED.get(pool) ?? new Map<string, number>();
    RETIRED.set(pool, this.#retired);
  }

  /** Whether any of them has a call. */
  get busy(): boolean {
    return this.#draining.size > 0 || [...this.#slots.values()].some(({ upstream }) => upstream.isBusy);
  }

  /** At once when it runs already. */
  readonly acquire = (driver: Driver, who: Acquirer): Upstream | Promise<Upstream> => {
    const key = this.#keyOf(driver, who);
    const slot = this.#slots.get(key);
    return slot?.upstream.live === undefined ? this.#start(driver, who, key) : slot.upstream;
  };

  async #start(driver: Driver, who: Acquirer, key: string): Promise<Upstream> {
    if (this.#closing !== undefined) throw closed(driver);
    let slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, (slot = this.#newSlot(driver, who, key)));
    slot.who = who;
    const { upstream } = slot;
    try {
      await upstream.start();
      return upstream;
    } catch (error) {
      const isClosed = this.#closing !== undefined;
      const isReplaced = this.#slots.get(key) !== slot && upstream.state.kind === "stopped" && !isClosed;
      // The slot was replaced meanwhile, as after a login or logout: the caller gets the current server.
      if (isReplaced) return this.acquire(driver, who);
      // Each caller may try a server that never ran. One that crashed is left alone for a while.
      if (upstream.description === undefined && this.#slots.get(key) === slot) {
        this.#slots.delete(key);
        await upstream.close();
      }
      throw isClosed ? closed(driver) : error;
    }
  }

  #newSlot(driver: Driver, who: Acquirer, key: string): Slot {
    const { limits, lease } = this.#options;
    const { keepalive, maxRetries } = driver.connection;
    const idleMs =
      keepalive === true ? undefined : keepalive === false ? 0 : (this.#options.idleMs ?? IDLE_MS);
    const policy = { keepsTrying: false, startRetries: maxRetries ?? 0, idleMs, drainMs: IDLE_MS };
    const launches = createLaunchReports(driver.id, lease.report, undefined);
    const slot: Slot = {
      who,
      upstream: new SupervisedUpstream({
        name: driver.id,
        policy: () => policy,
        requestTimeoutMs: limitsOf(driver, limits).requestTimeoutMs,
        open: (leave, before) =>
          this.#open(driver, slot.who, key, { leave, launches, knownLegacy: before?.era === "legacy" }),
      }),
    };
    return slot;
  }

  /** Worked out once for drivers whose process everybody may share. */
  #keyOf(driver: Driver, { context }: Acquirer): string {
    const hooks = this.#options.hooks?.get(driver.id);
    let shared = this.#sharedKeys.get(driver);
    if (shared === undefined) {
      const key = processKey(driver, {}, hooks);
      shared = key === processKey(driver, { userId: "-", workspaceId: "-" }, hooks) ? key : "";
      this.#sharedKeys.set(driver, shared);
    }
    return shared === "" ? processKey(driver, context, hooks) : shared;
  }

  /** A login or logout retires the process, which may still know the earlier login. It finishes its calls. */
  retire(driver: Driver, context: CallContext): void {
    const key = this.#keyOf(driver, { context, tool: "" });
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#slots.delete(key);
    this.#retired.set(key, (this.#retired.get(key) ?? 0) + 1);
    const { upstream } = slot;
    this.#draining.add(upstream);
    // A call that was just sent here comes first.
    setImmediate(() => void upstream.drain().finally(() => this.#draining.delete(upstream)));
  }

  /** Resolves when every process has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const all = [...Array.from(this.#slots.values(), ({ upstream }) => upstream), ...this.#draining];
    this.#slots.clear();
    await Promise.all(all.map((upstream) => upstream.close()));
  }

  async #open(
    driver: Driver,
    who: Acquirer,
    key: string,
    terms: { readonly leave: AbortSignal; readonly launches: LaunchReports; readonly knownLegacy: boolean },
  ): Promise<Lease> {
    const { lease: options, limits, heard } = this.#options;
    const { pool, caller, ask, report, redactor, eras, roots } = options;
    const { leave, launches, knownLegacy } = terms;
    const generation = this.#retired.get(key) ?? 0;
    const definition: ServerDefinition = {
      name: driver.id,
      endpoint: await this.#resolved(driver, who),
      era: eraOf(driver.protocolVersion),
      revision: driver.protocolVersion,
      limits: limitsOf(driver, limits),
      launch: await this.#launch(driver, who),
      roots,
    };
    const { endpoint, launch, era, revision, limits: own } = definition;
    return pool.acquire(
      JSON.stringify([key, generation, endpoint, launch, era, revision ?? null, own]),
      (signal, { stderr: onStderr, launch: onLaunch }) =>
        openSessionUpstream({
          ...{ signal, definition, caller, ask, watch: true, report, redactor, eras, knownLegacy },
          ...{ onStderr, onLaunch, launches },
        }),
      leave,
      heard,
    );
  }

  /** Boxed as declared, or as whoever opened the hub says, with what the caller's login has left. */
  async #launch(driver: Driver, { context }: Acquirer): Promise<LaunchSettings> {
    const { endpoint, lease } = this.#options;
    const declared = withPaths(driver, endpoint, this.#options.hooks?.get(driver.id));
    const launch = withDriverMode(declared, driver.id, {
      override: lease.declared.launch?.sandboxOverride,
      alias: lease.declared.alias,
      byDriver: endpoint.policy.sandbox,
    });
    // What is in an image has all of its own.
    if (!this.#hasLogin(driver) || driver.server.kind === "docker") return launch;
    return withState(driver, await homeFor(driver, context, endpoint.root), endpoint.root, launch);
  }

  /** As declared, or in code: what one user's login has left is not for another's process. */
  #hasLogin(driver: Driver): boolean {
    const { login, refresh } = this.#options.hooks?.get(driver.id) ?? {};
    return login !== undefined || refresh !== undefined || hasLogin(driver);
  }

  /** The endpoint with the secrets that this call may have. */
  async #resolved(driver: Driver, { tool, context }: Acquirer): Promise<Endpoint> {
    const { grants, lease } = this.#options;
    const values = await grants.bind(driver, tool, context);
    const store: Pick<SecretStore, "get" | "checkFile"> = {
      checkFile: lease.secrets.checkFile,
      get: async (name) => {
        const value = values.get(name);
        return value === undefined ? undefined : { secret: new Secret(value), source: "environment" };
      },
    };
    const resolved = await resolveEndpoint(driver.endpoint, store as SecretStore, {
      baseDir: this.#options.endpoint.root,
    });
    if (!resolved.ok) throw toSecretError(resolved, driver.id);
    for (const secret of resolved.secrets) lease.redactor.add(secret);
    const { endpoint } = resolved;
    // Relative words of its command line mean the workspace, wherever this program runs.
    return endpoint.transport === "stdio" ? { cwd: this.#options.endpoint.root, ...endpoint } : endpoint;
  }
}

function eraOf(revision: string | undefined): ServerDefinition["era"] {
  if (revision === undefined) return "auto";
  return LEGACY_REVISIONS.includes(revision) ? "legacy" : "modern";
}

function limitsOf({ connection: { timeoutMs } }: Driver, limits: Limits): Limits {
  return timeoutMs === undefined
    ? limits
    : { ...limits, startTimeoutMs: timeoutMs, requestTimeoutMs: timeoutMs };
}

function closed({ id }: Driver): PortolanError {
  return new PortolanError("CONNECTION_CLOSED", `${id} was stopped`, { server: id });
}
