// The servers behind drivers: started by the first call that needs one, shared by those who may share it, stopped when idle.

import { setMaxListeners } from "node:events";
import {
  type Acquirer,
  type CallContext,
  type DriverHooks,
  hasLogin,
  processKey,
  type SecretGrants,
} from "../contracts/index.ts";
import { PortolanError } from "../errors/index.ts";
import {
  type ContractsEndpoint,
  type Driver,
  type Endpoint,
  LEGACY_REVISIONS,
  type LaunchSettings,
  type Limits,
  type ServerDefinition,
  withDriverMode,
} from "../model/index.ts";
import { resolveEndpoint, Secret, type SecretStore, toSecretError } from "../secrets/index.ts";
import { openUpstream, pause, type Upstream } from "../upstream/index.ts";
import { homeFor, withState } from "./auth-state.ts";
import { countedUpstream, type Use } from "./counted-upstream.ts";
import type { LeaseOptions } from "./lease-server.ts";
import { withPaths } from "./path-arguments.ts";
import type { Heard, Lease, Pool } from "./pool.ts";

/** A server that nobody used for this long is stopped, unless its driver wants to keep it. */
const IDLE_MS = 5 * 60_000;
const RETRY_MS = 200;

interface Running extends Use {
  opening: Promise<Upstream>;
  lease: Lease | undefined;
  upstream: Upstream | undefined;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
  /** Hears no more of it. */
  deaf: () => void;
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
 * How often the server of a key was replaced: the pool must not give the old one again. Those who take one another's place share the
 * pool, and so this.
 */
const RETIRED = new WeakMap<Pool, Map<string, number>>();

export class DriverServers {
  readonly #options: DriverServersOptions;
  readonly #running = new Map<string, Running>();
  /** All that are about to start, also those that nobody wants any more. */
  readonly #openings = new Set<Promise<unknown>>();
  readonly #leaving = new AbortController();
  readonly #retired: Map<string, number>;
  readonly #old = new Map<Lease, Running>();
  /** Empty for drivers whose process depends on who calls. */
  readonly #sharedKeys = new WeakMap<Driver, string>();

  constructor(options: DriverServersOptions) {
    this.#options = options;
    const { pool } = options.lease;
    this.#retired = RETIRED.get(pool) ?? new Map<string, number>();
    RETIRED.set(pool, this.#retired);
    // Every start listens to it.
    setMaxListeners(0, this.#leaving.signal);
  }

  /** Whether any of them has a call. */
  get busy(): boolean {
    return [...this.#running.values(), ...this.#old.values()].some(({ busy }) => busy > 0);
  }

  /** At once when it runs already. */
  readonly acquire = (driver: Driver, who: Acquirer): Upstream | Promise<Upstream> => {
    const key = this.#keyOf(driver, who);
    const known = this.#running.get(key);
    return known === undefined ? this.#begin(driver, who, key) : (known.upstream ?? known.opening);
  };

  #begin(driver: Driver, who: Acquirer, key: string): Promise<Upstream> {
    if (this.#leaving.signal.aborted) return Promise.reject(closed(driver));
    const running: Running = {
      opening: NEVER,
      lease: undefined,
      upstream: undefined,
      busy: 0,
      followed: 0,
      usedAt: 0,
      idle: undefined,
      deaf: () => {},
    };
    this.#running.set(key, running);
    const opening = this.#open(driver, who, key, running);
    running.opening = opening;
    this.#openings.add(opening);
    opening
      .catch(() => {
        if (this.#running.get(key) === running) this.#running.delete(key);
      })
      .finally(() => this.#openings.delete(opening));
    return opening;
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

  /** Who logs in or out does so with a new process: the old one may still know the login of before. */
  retire(driver: Driver, context: CallContext): void {
    const key = this.#keyOf(driver, { context, tool: "" });
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    this.#retired.set(key, (this.#retired.get(key) ?? 0) + 1);
    clearTimeout(running.idle);
    running.deaf();
    const { lease } = running;
    // One that is about to start is let go of by whoever starts it.
    if (lease === undefined) return;
    this.#old.set(lease, running);
    const begun = performance.now();
    // What is under way is let finish.
    const leave = (): void => {
      if (running.busy > 0 && performance.now() - begun < IDLE_MS) {
        setTimeout(leave, RETRY_MS).unref();
        return;
      }
      void lease.release().finally(() => this.#old.delete(lease));
    };
    setImmediate(leave);
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    const all = [...this.#running.values()];
    this.#running.clear();
    for (const running of all) {
      clearTimeout(running.idle);
      running.deaf();
    }
    await Promise.all([
      ...Array.from(this.#old.keys(), (lease) => lease.release()),
      ...all.map((running) => running.lease?.release()),
      // Whoever starts one lets go of it.
      ...Array.from(this.#openings, (opening) => opening.catch(() => {})),
    ]);
  }

  async #open(driver: Driver, who: Acquirer, key: string, running: Running): Promise<Upstream> {
    const { lease: options, limits, heard } = this.#options;
    const { pool, caller, ask, report, redactor, eras, roots } = options;
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
    const acquire = (): Promise<Lease> => {
      // Too late to be told so by the signal.
      if (this.#leaving.signal.aborted) throw closed(driver);
      return pool.acquire(
        JSON.stringify([key, generation, endpoint, launch, era, revision ?? null, own]),
        (signal, { stderr: onStderr, launch: onLaunch }) =>
          openUpstream({
            ...{ signal, definition, caller, ask, watch: true, report, redactor, eras },
            ...{ onStderr, onLaunch },
          }),
        this.#leaving.signal,
        heard,
      );
    };
    const lease = await withRetries(acquire, driver.connection.maxRetries ?? 0, this.#leaving.signal);
    if (this.#running.get(key) !== running) {
      await lease.release();
      if (this.#leaving.signal.aborted) throw closed(driver);
      // Somebody has logged in or out meanwhile: whoever waits gets the server of now.
      return await this.acquire(driver, who);
    }
    running.lease = lease;
    running.upstream = countedUpstream(lease.upstream, running, () => this.#used(driver, key, running));
    running.usedAt = performance.now();
    this.#armIdle(driver, key, running);
    // Given up for good: whoever needs it next starts it anew.
    running.deaf = lease.upstream.on("stateChanged", (state) => {
      if ((state !== "failed" && state !== "closed") || this.#running.get(key) !== running) return;
      this.#letGo(key, running);
    });
    return running.upstream;
  }

  #letGo(key: string, running: Running): void {
    this.#running.delete(key);
    clearTimeout(running.idle);
    running.deaf();
    void running.lease?.release();
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

  #used(driver: Driver, key: string, running: Running): void {
    running.usedAt = performance.now();
    if (running.idle === undefined && this.#running.get(key) === running) this.#armIdle(driver, key, running);
  }

  /** One timer for all calls: when it rings, it looks how long ago the last one was. */
  #armIdle(driver: Driver, key: string, running: Running): void {
    const { keepalive } = driver.connection;
    if (keepalive === true) return;
    const idleMs = keepalive === false ? 0 : (this.#options.idleMs ?? IDLE_MS);
    const left = Math.max(0, running.usedAt + idleMs - performance.now());
    running.idle = setTimeout(() => {
      running.idle = undefined;
      if (this.#running.get(key) !== running) return;
      if (running.busy + running.followed > 0) return;
      if (performance.now() < running.usedAt + idleMs) return this.#armIdle(driver, key, running);
      this.#letGo(key, running);
    }, left).unref();
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

const NEVER: Promise<Upstream> = new Promise(() => {});

async function withRetries<T>(attempt: () => Promise<T>, retries: number, signal: AbortSignal): Promise<T> {
  for (let left = retries; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 0 || signal.aborted) throw error;
      await pause(RETRY_MS * 2 ** (retries - left), signal);
    }
  }
}
