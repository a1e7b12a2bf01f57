// The servers behind drivers: started by the first call that needs one, shared by those who may share it, stopped when idle.

import {
  type Acquirer,
  type CallContext,
  hasLogin,
  processKey,
  type SecretGrants,
} from "../contracts/index.ts";
import {
  type Contract,
  type ContractsEndpoint,
  type Driver,
  type Endpoint,
  isObject,
  LEGACY_REVISIONS,
  type LaunchSettings,
  type Limits,
  type ServerDefinition,
} from "../model/index.ts";
import { resolveEndpoint, Secret, type SecretStore, toSecretError } from "../secrets/index.ts";
import { openUpstream, type Upstream } from "../upstream/index.ts";
import { homeFor, withState } from "./auth-state.ts";
import type { LeaseOptions } from "./lease-server.ts";
import type { Heard, Lease } from "./pool.ts";

/** A server that nobody used for this long is stopped, unless its driver wants to keep it. */
const IDLE_MS = 5 * 60_000;
const RETRY_MS = 200;

interface Running {
  readonly opening: Promise<Upstream>;
  lease: Lease | undefined;
  upstream: Upstream | undefined;
  busy: number;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

export interface DriverServersOptions {
  readonly lease: LeaseOptions;
  readonly endpoint: ContractsEndpoint;
  readonly limits: Limits;
  readonly grants: SecretGrants;
  readonly heard: Heard;
  readonly idleMs?: number | undefined;
}

export class DriverServers {
  readonly #options: DriverServersOptions;
  readonly #running = new Map<string, Running>();
  readonly #leaving = new AbortController();
  /** How often the server of a key was replaced: the pool must not give the old one again. */
  readonly #retired = new Map<string, number>();
  readonly #old = new Set<Lease>();
  /** Empty for drivers whose process depends on who calls. */
  readonly #sharedKeys = new WeakMap<Driver, string>();

  constructor(options: DriverServersOptions) {
    this.#options = options;
  }

  /** At once when it runs already. */
  readonly acquire = (driver: Driver, who: Acquirer): Upstream | Promise<Upstream> => {
    const key = this.#keyOf(driver, who);
    let running = this.#running.get(key);
    if (running === undefined) {
      const opening = this.#open(driver, who, key);
      running = { opening, lease: undefined, upstream: undefined, busy: 0, usedAt: 0, idle: undefined };
      this.#running.set(key, running);
      opening.catch(() => this.#running.delete(key));
    }
    return running.upstream ?? running.opening;
  };

  /** Worked out once for drivers whose process everybody may share. */
  #keyOf(driver: Driver, { context }: Acquirer): string {
    let shared = this.#sharedKeys.get(driver);
    if (shared === undefined) {
      const key = processKey(driver, {});
      shared = key === processKey(driver, { userId: "-", workspaceId: "-" }) ? key : "";
      this.#sharedKeys.set(driver, shared);
    }
    return shared === "" ? processKey(driver, context) : shared;
  }

  /** Who logs in or out does so with a new process: the old one may still know the login of before. */
  retire(driver: Driver, context: CallContext): void {
    const key = this.#keyOf(driver, { context, tool: "" });
    const running = this.#running.get(key);
    if (running?.lease === undefined) return;
    this.#running.delete(key);
    this.#retired.set(key, (this.#retired.get(key) ?? 0) + 1);
    clearTimeout(running.idle);
    const { lease } = running;
    this.#old.add(lease);
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
    await Promise.all([...this.#old].map((lease) => lease.release()));
    await Promise.all(
      all.map(async ({ opening, idle, ...running }) => {
        clearTimeout(idle);
        await opening.catch(() => {});
        await running.lease?.release();
      }),
    );
  }

  async #open(driver: Driver, who: Acquirer, key: string): Promise<Upstream> {
    const { lease: options, limits, heard } = this.#options;
    const { pool, caller, ask, report, redactor, eras, roots } = options;
    const definition: ServerDefinition = {
      name: driver.id,
      endpoint: await this.#resolved(driver, who),
      era: eraOf(driver.protocolVersion),
      limits: limitsOf(driver, limits),
      launch: await this.#launch(driver, who),
      roots,
    };
    const acquire = (): Promise<Lease> =>
      pool.acquire(
        JSON.stringify([key, this.#retired.get(key) ?? 0, definition.endpoint, definition.launch]),
        (signal, { stderr: onStderr, launch: onLaunch }) =>
          openUpstream({
            ...{ signal, definition, caller, ask, watch: true, report, redactor, eras },
            ...{ onStderr, onLaunch },
          }),
        this.#leaving.signal,
        heard,
      );
    const lease = await withRetries(acquire, driver.connection.maxRetries ?? 0, this.#leaving.signal);
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.lease = lease;
      running.upstream = this.#counted(lease.upstream, driver, key);
      running.usedAt = performance.now();
      this.#armIdle(driver, key, running);
      // Given up for good: whoever needs it next starts it anew.
      lease.upstream.on("stateChanged", (state) => {
        if ((state !== "failed" && state !== "closed") || this.#running.get(key) !== running) return;
        this.#running.delete(key);
        clearTimeout(running.idle);
        void lease.release();
      });
    }
    return running?.upstream ?? lease.upstream;
  }

  /** Boxed as declared, or as whoever opened the hub says, with what the caller's login has left. */
  async #launch(driver: Driver, { context }: Acquirer): Promise<LaunchSettings> {
    const { endpoint, lease } = this.#options;
    const sandboxOverride = lease.declared.launch?.sandboxOverride;
    const launch = {
      ...withPaths(driver, endpoint.contracts),
      ...(sandboxOverride === undefined ? {} : { sandboxOverride }),
    };
    // What is in an image has all of its own.
    if (!hasLogin(driver) || driver.server.kind === "docker") return launch;
    return withState(driver, await homeFor(driver, context, endpoint.root), endpoint.root, launch);
  }

  /** The endpoint with the secrets that this call may have. */
  async #resolved(driver: Driver, { tool, context }: Acquirer): Promise<Endpoint> {
    const { grants, lease } = this.#options;
    const values = await grants.bind(driver, tool, context);
    const store: Pick<SecretStore, "get"> = {
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

  /** Knows when a server is in use, so that it is not stopped then. */
  #counted(upstream: Upstream, driver: Driver, key: string): Upstream {
    const request: Upstream["request"] = async (call) => {
      const running = this.#running.get(key);
      if (running === undefined) return upstream.request(call);
      running.busy += 1;
      try {
        return await upstream.request(call);
      } finally {
        running.busy -= 1;
        running.usedAt = performance.now();
        if (running.idle === undefined) this.#armIdle(driver, key, running);
      }
    };
    return {
      name: upstream.name,
      request,
      describe: () => upstream.describe(),
      notify: (method, params) => upstream.notify(method, params),
      subscribe: (uri) => upstream.subscribe(uri),
      setLogLevel: (level) => upstream.setLogLevel(level),
      on: (event, listener) => upstream.on(event, listener),
      stats: () => upstream.stats(),
      close: () => upstream.close(),
      [Symbol.asyncDispose]: () => upstream.close(),
    };
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
      if (running.busy > 0) return;
      if (performance.now() < running.usedAt + idleMs) return this.#armIdle(driver, key, running);
      this.#running.delete(key);
      void running.lease?.release();
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

const PATH_FORMATS: ReadonlySet<unknown> = new Set(["uri", "uri-reference", "iri", "path", "file-path"]);

/** Inputs that a contract calls paths or URIs are checked against the box of whichever server gets them. */
function withPaths(driver: Driver, contracts: readonly Contract[]): LaunchSettings {
  const paths: Record<string, string[]> = {};
  for (const { tool, toolName, argumentMapping } of driver.implements)
    for (const { inputs } of contracts.filter(
      ({ id, origin }) => id === tool || origin.file.endsWith(tool.replace(/^\.\//, "")),
    ))
      for (const [name, schema] of Object.entries(isObject(inputs.properties) ? inputs.properties : {}))
        if (isObject(schema) && PATH_FORMATS.has(schema.format))
          (paths[toolName] ??= []).push(argumentMapping[name] ?? name);
  const { sandbox } = driver.launch;
  const pathArguments = { ...paths, ...sandbox?.pathArguments };
  return { ...driver.launch, cwdImplied: true, sandbox: { ...sandbox, pathArguments } };
}

async function withRetries<T>(attempt: () => Promise<T>, retries: number, signal: AbortSignal): Promise<T> {
  for (let left = retries; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 0 || signal.aborted) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS * 2 ** (retries - left)).unref();
      });
    }
  }
}
