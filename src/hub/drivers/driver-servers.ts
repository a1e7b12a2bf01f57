// Servers of drivers: one instance per driver, or per user where secrets or a login are involved. Started by the first call.

import {
  type Acquirer,
  type CallContext,
  type DriverHooks,
  hasLogin,
  LOCAL_USER,
  processKey,
  type SecretGrants,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type ContractsEndpoint,
  type Driver,
  type Endpoint,
  IN_DRIVER,
  LEGACY_REVISIONS,
  type LaunchSettings,
  type Limits,
  type ServerDefinition,
  withDriverMode,
} from "../../model/index.ts";
import { resolveEndpoint, Secret, type SecretStore, toSecretError } from "../../secrets/index.ts";
import {
  createLaunchDiagnostics,
  type LaunchDiagnostics,
  type SessionHandle,
  SupervisedUpstream,
  type Upstream,
} from "../../upstream/index.ts";
import type { HubUser } from "../member/user-members.ts";
import { homeFor, withState } from "./login-state.ts";
import type { ServerContext } from "../processes/open-server-session.ts";
import { withPaths } from "./path-arguments.ts";
import { openPooledSession, type ProcessListener } from "../processes/process-pool.ts";
import { digestOf } from "../processes/used-secrets.ts";

/** Idle time after which a server is stopped, unless its driver sets `keepalive`. */
const IDLE_MS = 5 * 60_000;

/** One instance of a driver's server. */
interface Slot {
  readonly upstream: SupervisedUpstream;
  /** The caller whose secrets the next start uses. */
  who: Acquirer;
  /** A login or logout has replaced it. */
  isRetired: boolean;
}

export interface DriverServersOptions {
  readonly context: ServerContext;
  readonly endpoint: ContractsEndpoint;
  readonly limits: Limits;
  readonly grants: SecretGrants;
  readonly listener: ProcessListener;
  /** The code beside drivers, by their ids. */
  readonly hooks?: ReadonlyMap<string, DriverHooks>;
  readonly idleMs?: number;
}

export class DriverServers {
  readonly #options: DriverServersOptions;
  readonly #slots = new Map<string, Slot>();
  /** Instances that finish their calls. */
  readonly #draining = new Set<SupervisedUpstream>();
  /** The last start of each process, with a digest of its secrets; without one if they could not be read. By process key. */
  readonly #used = new Map<string, { driver: Driver; who: Acquirer; digest: string | undefined }>();
  #closing: Promise<void> | undefined;
  /** Process keys of drivers whose process all callers share; empty for other drivers. */
  readonly #sharedKeys = new WeakMap<Driver, string>();

  constructor(options: DriverServersOptions) {
    this.#options = options;
  }

  /** True when any instance has a call in flight. */
  get busy(): boolean {
    return this.#draining.size > 0 || [...this.#slots.values()].some(({ upstream }) => upstream.isBusy);
  }

  /** Synchronous when the server is running. */
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
      if (slot.isRetired && !isClosed) return this.acquire(driver, who);
      // A server that never ran is tried again by each caller. A server that crashed has its back-off.
      if (upstream.description === undefined && this.#slots.get(key) === slot) {
        this.#slots.delete(key);
        await upstream.close();
      }
      throw isClosed ? closed(driver) : error;
    }
  }

  #newSlot(driver: Driver, who: Acquirer, key: string): Slot {
    const { limits, context } = this.#options;
    const { keepalive, maxRetries } = driver.connection;
    const idleMs =
      keepalive === true ? undefined : keepalive === false ? 0 : (this.#options.idleMs ?? IDLE_MS);
    const policy = {
      restarts: true,
      keepsTrying: false,
      startRetries: maxRetries ?? 0,
      idleMs,
      drainMs: IDLE_MS,
    };
    const launches = createLaunchDiagnostics(driver.id, context.report, undefined, { command: IN_DRIVER });
    const slot: Slot = {
      who,
      isRetired: false,
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

  /** Cached for drivers whose process all callers share. */
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

  /** Retires the process after a login or logout, because it knows the old login. It finishes its calls. */
  retire(driver: Driver, context: CallContext): void {
    const key = this.#keyOf(driver, { context, tool: "" });
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#slots.delete(key);
    slot.isRetired = true;
    const { replacements } = this.#options.context.pool;
    replacements.set(key, (replacements.get(key) ?? 0) + 1);
    const { upstream } = slot;
    this.#draining.add(upstream);
    // A call that was just sent to it comes first.
    setImmediate(() => void upstream.drain().finally(() => this.#draining.delete(upstream)));
  }

  /** True if a server was started with other secrets than those of now. Throws if one that it was started with is missing now. */
  async hasNewSecrets(): Promise<boolean> {
    const changed = await Promise.all(
      Array.from(this.#used.values(), async ({ driver, who, digest }) => {
        const now = await this.#resolved(driver, who).then(digestOf, (error: unknown) => {
          if (digest !== undefined) throw error;
        });
        return now !== digest;
      }),
    );
    return changed.includes(true);
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
    terms: {
      readonly leave: AbortSignal;
      readonly launches: LaunchDiagnostics;
      readonly knownLegacy: boolean;
    },
  ): Promise<SessionHandle> {
    const { context, limits, listener } = this.#options;
    const generation = context.pool.replacements.get(key) ?? 0;
    const used = { driver, who, digest: undefined as string | undefined };
    this.#used.set(key, used);
    const resolved = await this.#resolved(driver, who);
    used.digest = digestOf(resolved);
    const definition: ServerDefinition = {
      name: driver.id,
      endpoint: resolved,
      era: eraOf(driver.protocolVersion),
      revision: driver.protocolVersion,
      limits: limitsOf(driver, limits),
      launch: await this.#launch(driver, who),
      roots: context.roots,
    };
    const { endpoint, launch, era, revision, limits: own } = definition;
    const poolKey = JSON.stringify([key, generation, endpoint, launch, era, revision ?? null, own]);
    const user = userOf(who.context, context);
    return openPooledSession({ ...context, user }, definition, poolKey, { listener, ...terms });
  }

  /** The sandbox settings of the driver, overridden by those of the hub, with access to the caller's login state. */
  async #launch(driver: Driver, { context }: Acquirer): Promise<LaunchSettings> {
    const { endpoint, context: server } = this.#options;
    const withPathArguments = withPaths(driver, endpoint, this.#options.hooks?.get(driver.id));
    const launch = withDriverMode(withPathArguments, driver.id, {
      override: server.config.launch?.sandboxOverride,
      alias: server.config.alias,
      byDriver: endpoint.policy.sandbox,
    });
    // A container image has its own file system.
    if (!this.#hasLogin(driver) || driver.server.kind === "docker") return launch;
    return withState(driver, await homeFor(driver, context, endpoint.root), endpoint.root, launch);
  }

  /** True when the driver has a login, in its file or in code: each user then has a process. */
  #hasLogin(driver: Driver): boolean {
    const { login, refresh } = this.#options.hooks?.get(driver.id) ?? {};
    return login !== undefined || refresh !== undefined || hasLogin(driver);
  }

  /** The endpoint with the secrets that are granted to this call. */
  async #resolved(driver: Driver, { tool, context }: Acquirer): Promise<Endpoint> {
    const { grants, context: server } = this.#options;
    // Its references are those that a person wrote for its server into portolan.yaml.
    if (driver.packaged !== undefined) return this.#resolvedWith(driver, server.secrets);
    const values = await grants.bind(driver, tool, context);
    const store: Pick<SecretStore, "get" | "checkFile"> = {
      checkFile: server.secrets.checkFile,
      get: async (name) => {
        const value = values.get(name);
        return value === undefined ? undefined : { secret: new Secret(value), source: "environment" };
      },
    };
    return this.#resolvedWith(driver, store);
  }

  async #resolvedWith(driver: Driver, store: Pick<SecretStore, "get" | "checkFile">): Promise<Endpoint> {
    const { context: server } = this.#options;
    const resolved = await resolveEndpoint(driver.endpoint, store as SecretStore, {
      baseDir: this.#options.endpoint.root,
    });
    if (!resolved.ok) throw toSecretError(resolved, driver.id);
    for (const secret of resolved.secrets) server.redactor.add(secret);
    const { endpoint } = resolved;
    // Relative paths in the command line are relative to the workspace.
    return endpoint.transport === "stdio" ? { cwd: this.#options.endpoint.root, ...endpoint } : endpoint;
  }
}

/** The user whose login a remote server gets: the owner has the login of `portolan login`, other callers have their own. */
function userOf({ userId }: CallContext, { user }: ServerContext): HubUser | undefined {
  if (userId === undefined || userId === LOCAL_USER) return user;
  return { id: userId, key: userId, name: userId, subjectToken: () => undefined };
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
  return new PortolanError(
    "CONNECTION_CLOSED",
    `the call was not sent: Portolan has stopped the server of the driver ${id}`,
    {
      server: id,
      hint: "If Portolan still runs, call again.",
    },
  );
}
