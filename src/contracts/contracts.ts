// Contracts and the drivers that serve them, put together: who is registered, who is chosen, and what happens when that changes.

import type { Diagnostic, Report } from "../errors/index.ts";
import {
  type Contract,
  compareVersions,
  type Driver,
  type JsonObject,
  parseVersion,
} from "../model/index.ts";
import type { Audit } from "./audit.ts";
import { AuthMachine, type AuthOutcome, type AuthTransition } from "./auth.ts";
import type { AuthPorts } from "./auth-steps.ts";
import { type AuthStore, createAuthStore } from "./auth-store.ts";
import type { AuthState } from "./capability.ts";
import {
  type Approve,
  type ContractCall,
  dispatch,
  type Dispatched,
  type DispatchParts,
} from "./dispatch.ts";
import { fail } from "./failure.ts";
import { HealthChecks } from "./health.ts";
import { type ContractPolicy, policyOf, regionOf } from "./policy.ts";
import { type PreparedContract, prepareContract } from "./prepared-contract.ts";
import { type Registered, statusFor } from "./registered.ts";
import { type Acquire, DriverRegistry } from "./registry.ts";
import type { Candidate, Resolution } from "./resolver.ts";
import { Routes } from "./routes.ts";
import type { SecretGrants } from "./secret-grants.ts";
import type { BoundTool, CallContext, DriverHooks } from "./types.ts";

export interface DriverEntry {
  readonly driver: Driver;
  readonly hooks?: DriverHooks | undefined;
}

export interface ContractsOptions {
  readonly name?: string | undefined;
  readonly contracts: readonly Contract[];
  readonly drivers: readonly DriverEntry[];
  readonly acquire: Acquire;
  readonly policy?: ContractPolicy | undefined;
  readonly approve?: Approve | undefined;
  readonly audit?: Audit | undefined;
  readonly report?: Report | undefined;
  /** What paths of contracts are looked for from first. */
  readonly root?: string | undefined;
  readonly workspaceId?: string | undefined;
  /** Whose calls those are that do not say. */
  readonly userId?: string | undefined;
  /** Asked with every call; `acquire` gets the values from it. Without it, `acquire` resolves secrets as it likes. */
  readonly secrets?: SecretGrants | undefined;
  readonly auth?: (AuthPorts & { readonly file?: string | undefined }) | undefined;
  /** Somebody has logged in to a driver, or out of it. */
  readonly authChanged?: ((transition: AuthTransition) => void) | undefined;
  /** Why a resource's address must not reach a driver's server; nothing when it may. */
  readonly checkUri: (driver: Driver, uri: string) => string | undefined | Promise<string | undefined>;
  /** The same for the arguments of a call. */
  readonly checkArguments?: ((bound: BoundTool, args: JsonObject) => string | undefined) | undefined;
  /** What becomes of a driver that takes the place of its earlier version without the version that its changes need. Default: `warn`. */
  readonly bumps?: "enforce" | "warn" | "off" | undefined;
  /** The drivers as they were registered before this program ran, by id; `bumps` is about them too. */
  readonly earlier?: ReadonlyMap<string, Driver> | undefined;
  /** `eager` starts every driver's server now, to find out whether it fits; `lazy` with the first call. Default: `eager`. */
  readonly probe?: "eager" | "lazy" | undefined;
}

export interface DriverReport {
  readonly id: string;
  readonly version: string;
  readonly server: Registered["server"];
  readonly reason?: string | undefined;
  readonly auth: AuthState;
  readonly health: Registered["health"];
  readonly contracts: readonly string[];
  readonly problems: readonly Diagnostic[];
}

export class ContractSet {
  readonly options: ContractsOptions;
  readonly registry: DriverRegistry;
  readonly grants: SecretGrants | undefined;
  readonly auth: AuthMachine;
  readonly #prepared: ReadonlyMap<string, readonly PreparedContract[]>;
  readonly #store: AuthStore;
  readonly #routes: Routes;
  readonly #health: HealthChecks;
  readonly #changed: () => void;
  #exposed: ReadonlyMap<string, PreparedContract> | undefined;
  readonly #parts: DispatchParts;
  /** Looks at servers that are under way; they never fail. */
  readonly #looking = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  private constructor(
    options: ContractsOptions,
    prepared: ReadonlyMap<string, readonly PreparedContract[]>,
    changed: () => void,
  ) {
    this.options = options;
    this.#prepared = prepared;
    this.#changed = changed;
    const { secrets, auth, acquire, contracts, root, bumps } = options;
    const report: Report = options.report ?? (() => {});
    this.grants = secrets;
    this.#store = createAuthStore(auth?.file);
    this.auth = new AuthMachine(this.#store, auth ?? {}, (transition) => {
      if (transition.from !== transition.to) options.authChanged?.(transition);
      this.#invalidate();
    });
    this.registry = new DriverRegistry({
      contracts,
      root,
      bumps,
      earlier: options.earlier,
      acquire,
      report,
      changed: () => this.#invalidate(),
    });
    this.#health = new HealthChecks(this.registry, auth ?? {}, () => this.#invalidate());
    this.#routes = new Routes({
      policy: options.policy ?? NO_POLICY,
      candidates: (context) =>
        Array.from(this.registry.all(), (registered) => this.#candidate(registered, context)),
      narrowed: () => this.#narrowedInputs(),
    });
    this.#parts = this.#dispatchParts(report);
  }

  static async open(options: ContractsOptions, changed: () => void): Promise<ContractSet> {
    const prepared = new Map<string, PreparedContract[]>();
    for (const one of await Promise.all(options.contracts.map(prepareContract))) {
      const { id } = one.contract;
      prepared.set(id, [...(prepared.get(id) ?? []), one].sort(newestFirst));
    }
    const set = new ContractSet(options, prepared, changed);
    await set.#store.reload();
    for (const { driver, hooks } of options.drivers) void set.#add(driver, hooks ?? {}).looked;
    return set;
  }

  /** Whatever is being looked at in the background has been, or so much time has passed. */
  async settled(ms?: number): Promise<void> {
    const deadline = ms === undefined ? undefined : performance.now() + ms;
    while (this.#looking.size > 0 && !this.#closing.signal.aborted) {
      const left = deadline === undefined ? undefined : deadline - performance.now();
      if (left !== undefined && left <= 0) return;
      await ended(Promise.all(this.#looking), left, this.#closing.signal);
    }
  }

  /** Takes a driver in, or takes the place of its earlier version. Tells everything that is wrong with it. */
  async register(driver: Driver, hooks: DriverHooks = {}): Promise<readonly Diagnostic[]> {
    const { registered, looked } = this.#add(driver, hooks);
    await looked;
    return registered.problems;
  }

  /** It can be called at once: whoever is faster than the look at its server waits for that one. */
  #add(driver: Driver, hooks: DriverHooks): { registered: Registered; looked: Promise<void> } {
    const registered = this.registry.add(driver, hooks);
    this.#health.watch(registered, this.context({}));
    if (this.options.probe === "lazy") return { registered, looked: Promise.resolve() };
    const looked = this.#probe(registered).finally(() => this.#looking.delete(looked));
    this.#looking.add(looked);
    return { registered, looked };
  }

  unregister(id: string): void {
    this.#health.forget(id);
    this.registry.remove(id);
  }

  call(call: ContractCall): Promise<Dispatched> {
    return dispatch(call, this.context(call.context ?? NOBODY), this.#parts);
  }

  /** Why which driver would be chosen, without calling it. */
  explain(tool: string, context: CallContext = {}, inputs: readonly string[] = []): Resolution | undefined {
    const contract = (this.exposed().get(tool) ?? this.#prepared.get(tool)?.[0])?.contract;
    if (contract === undefined) return undefined;
    const { pinnedProvider: pin, regionConstraint: region } = context;
    return this.#routes.resolve({ contract, inputs, pin, region }, this.context(context));
  }

  /** Logs in to a driver now, whoever is there to do it; what it needs is asked for. */
  async login(id: string, context: CallContext = {}, signal?: AbortSignal): Promise<AuthOutcome> {
    const registered = this.registry.get(id);
    if (registered === undefined)
      return { ok: false, failure: fail("not_found", `There is no driver ${id}.`) };
    const { driver, hooks } = registered;
    if (!this.auth.concerns(driver, hooks)) return { ok: true };
    return this.auth.ready(driver, hooks, this.context({ ...context, interactive: true }), signal);
  }

  /** Nobody is logged in to the driver any more; what its programs keep of the login is left to them. */
  async logout(id: string, context: CallContext = {}): Promise<boolean> {
    const registered = this.registry.get(id);
    if (registered === undefined || !this.auth.concerns(registered.driver, registered.hooks)) return false;
    await this.auth.logout(registered.driver, this.context(context));
    return true;
  }

  /** The contracts that some driver serves, each in the newest version that one does. */
  exposed(): ReadonlyMap<string, PreparedContract> {
    this.#exposed ??= new Map(
      [...this.#prepared].flatMap(([id, versions]): [string, PreparedContract][] => {
        const served = [...this.registry.all()].flatMap(({ bound, server }) =>
          server === "refused" ? [] : [bound.get(id)?.contract.version],
        );
        const newest = versions.find(({ contract }) => served.includes(contract.version));
        return newest === undefined ? [] : [[id, newest]];
      }),
    );
    return this.#exposed;
  }

  /** Drivers that the policy lets serve at all, for what is not routed. */
  allowed(region?: string): readonly Registered[] {
    const policy = this.options.policy ?? {};
    return [...this.registry.all()].filter(
      ({ driver, server }) =>
        server !== "refused" &&
        policyOf(driver, policy) === undefined &&
        regionOf(driver, region, policy) === undefined,
    );
  }

  status(context: CallContext = {}): readonly DriverReport[] {
    const who = this.context(context);
    return Array.from(this.registry.all(), (registered) => {
      const { driver, hooks, bound, health, problems } = registered;
      const { server, reason } = statusFor(registered, who);
      return {
        id: driver.id,
        version: driver.version,
        server,
        ...(reason === undefined ? {} : { reason }),
        auth: this.auth.stateOf(driver, hooks, who),
        health,
        contracts: [...bound.keys()],
        problems,
      };
    });
  }

  close(): void {
    this.#closing.abort();
    this.#health.close();
    this.registry.close();
  }

  async #probe(registered: Registered): Promise<void> {
    const { driver, hooks, bound } = registered;
    const context = this.context({});
    const [tool] = bound.keys();
    if (tool === undefined) return;
    // Whoever is not logged in would only be told so; the server is looked at with the first call that is.
    if (this.auth.concerns(driver, hooks) && this.auth.stateOf(driver, hooks, context) !== "authed") return;
    await this.registry.probe(registered, { context, tool });
  }

  /** With what the call does not say filled in. */
  context(context: CallContext): CallContext {
    const { workspaceId, userId } = this.options;
    const lacks =
      (context.workspaceId === undefined && workspaceId !== undefined) ||
      (context.userId === undefined && userId !== undefined);
    if (!lacks) return context;
    const said = { workspaceId: context.workspaceId ?? workspaceId, userId: context.userId ?? userId };
    return { ...context, ...said };
  }

  #candidate(registered: Registered, context: CallContext): Candidate {
    const { driver, hooks, bound, health, healthyAt } = registered;
    const { server, reason, code } = statusFor(registered, context);
    return {
      id: driver.id,
      version: driver.version,
      kind: driver.kind,
      region: driver.region,
      policyTags: driver.policyTags,
      status: {
        server,
        reason,
        code,
        auth: this.auth.routingState(driver, hooks, context),
        health,
        healthyAt,
      },
      serves:
        bound.size === 0
          ? driver.implements.map(({ tool, range, dropInputs }) => ({
              tool: idOf(tool, this.#prepared),
              range,
              dropInputs,
            }))
          : Array.from(bound.values(), ({ contract, binding, cost }) => ({
              tool: contract.id,
              range: binding.range,
              dropInputs: binding.dropInputs,
              cost,
            })),
    };
  }

  #narrowedInputs(): ReadonlyMap<string, ReadonlySet<string>> {
    const all = new Map<string, Set<string>>();
    for (const { bound } of this.registry.all())
      for (const [id, { binding }] of bound)
        if (binding.dropInputs.length > 0)
          all.set(id, new Set([...(all.get(id) ?? []), ...binding.dropInputs]));
    return all;
  }

  #invalidate(): void {
    this.#routes.invalidate();
    this.#exposed = undefined;
    this.#changed();
  }

  #dispatchParts(report: Report): DispatchParts {
    const { policy, approve, audit, checkArguments } = this.options;
    return {
      contract: (id) => this.exposed().get(id) ?? this.#prepared.get(id)?.[0],
      contractIds: () => this.#prepared.keys(),
      route: (request, context) => this.#routes.resolve(request, context),
      ready: (driver, contract) => {
        const registered = this.registry.get(driver);
        const bound = registered?.bound.get(contract);
        return registered === undefined || bound === undefined
          ? undefined
          : { bound, hooks: registered.hooks };
      },
      acquire: (bound, who) => this.registry.acquire(this.registry.get(bound.driver.id) as Registered, who),
      policy: policy ?? NO_POLICY,
      auth: this.auth,
      grants: this.grants,
      approve,
      audit,
      report,
      checkArguments,
    };
  }
}

const NO_POLICY: ContractPolicy = {};
const NOBODY: CallContext = {};

/** A refused driver is bound to nothing, and is still named among those that could not serve. */
function idOf(tool: string, known: ReadonlyMap<string, unknown>): string {
  if (known.has(tool)) return tool;
  return tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, "");
}

/** Waits for it, for so long, or until all is over. */
function ended(work: Promise<unknown>, ms: number | undefined, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      over.removeEventListener("abort", stop);
      resolve();
    };
    const timer = ms === undefined ? undefined : setTimeout(stop, ms);
    over.addEventListener("abort", stop, { once: true });
    work.then(stop, stop);
  });
}

function newestFirst(a: PreparedContract, b: PreparedContract): number {
  const [left, right] = [parseVersion(a.contract.version), parseVersion(b.contract.version)];
  return left === undefined || right === undefined ? 0 : compareVersions(right, left);
}
