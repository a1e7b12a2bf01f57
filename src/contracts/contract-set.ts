// Contracts and the drivers that serve them, put together: who is registered, who is chosen, and what happens when that changes.

import type { Diagnostic, Report } from "../errors/index.ts";
import { type Contract, type Driver, idIn, type JsonObject } from "../model/index.ts";
import type { Audit } from "./dispatch/audit.ts";
import { AuthMachine, type AuthOutcome, type AuthTransition } from "./auth/auth-machine.ts";
import type { AuthPorts } from "./auth/login-steps.ts";
import { type AuthStore, createAuthStore } from "./auth/auth-store.ts";
import { candidatesFor, narrowedInputs } from "./routing/candidates.ts";
import { ContractShelf, prepareContracts } from "./contract/contract-catalog.ts";
import { dispatch } from "./dispatch/dispatch.ts";
import type { Acquirer, Approve, ContractCall, Dispatched, DispatchParts } from "./dispatch/contract-call.ts";
import { type DriverReport, reportOf } from "./driver/driver-report.ts";
import { fail } from "./dispatch/failure.ts";
import { HealthChecks } from "./driver/health-check.ts";
import { Looks } from "./verification/background-tasks.ts";
import type { ContractPolicy } from "./routing/policy.ts";
import { prepareContract } from "./contract/prepared-contract.ts";
import type { Registered } from "./driver/registered-driver.ts";
import { DriverRegistry } from "./driver/driver-registry.ts";
import type { Resolution } from "./routing/route.ts";
import { Routes } from "./routing/route-cache.ts";
import type { SecretGrants } from "./auth/secret-grants.ts";
import type { Acquire } from "./verification/verifier.ts";
import type { Bumps } from "./registration/driver-conflicts.ts";
import { Succession } from "./driver/succession.ts";
import type { BoundTool, CallContext, DriverHooks } from "./driver/bound-tool.ts";

export interface DriverEntry {
  readonly driver: Driver;
  readonly hooks?: DriverHooks | undefined;
}

export interface ContractsOptions {
  readonly name?: string | undefined;
  readonly contracts: readonly Contract[];
  /** A program has added a contract. */
  readonly contractAdded?: ((contract: Contract) => void) | undefined;
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
  readonly bumps?: Bumps | undefined;
  /** The drivers as they were registered before this program ran, by id; `bumps` is about them too. */
  readonly earlier?: ReadonlyMap<string, Driver> | undefined;
  /** `eager` starts every driver's server now, to find out whether it fits; `lazy` with the first call. Default: `eager`. */
  readonly probe?: "eager" | "lazy" | undefined;
}

export class ContractSet {
  readonly options: ContractsOptions;
  readonly registry: DriverRegistry;
  readonly shelf: ContractShelf;
  readonly grants: SecretGrants | undefined;
  readonly auth: AuthMachine;
  readonly #store: AuthStore;
  readonly #routes: Routes;
  readonly #health: HealthChecks;
  readonly #changed: () => void;
  readonly #parts: DispatchParts;
  readonly #looks = new Looks();
  /** The contracts of the options, and the contracts that were added since. */
  readonly #contracts: Contract[];
  readonly #succession: Succession;

  private constructor(
    options: ContractsOptions,
    prepared: Awaited<ReturnType<typeof prepareContracts>>,
    changed: () => void,
    before: ContractSet | undefined,
  ) {
    this.options = options;
    this.#changed = changed;
    const { secrets, auth, acquire, root, bumps } = options;
    this.#contracts = [...options.contracts];
    const report: Report = options.report ?? (() => {});
    this.grants = secrets;
    this.#store = createAuthStore(auth?.file);
    this.auth = new AuthMachine(this.#store, auth ?? {}, (transition) => {
      if (transition.from !== transition.to) options.authChanged?.(transition);
      this.#invalidate();
    });
    this.registry = new DriverRegistry({
      contracts: this.#contracts,
      root,
      bumps,
      earlier: options.earlier,
      acquire,
      report,
      before: before?.registry.all() ?? [],
      changed: () => this.#invalidate(),
      fits: (registered) => void this.#health.first(registered, this.context({})),
    });
    const offered = before?.shelf.offered() ?? new Map<string, never>();
    this.shelf = new ContractShelf(prepared, offered, () => this.registry.all());
    this.#succession = new Succession(
      before === undefined ? undefined : before.#succession,
      { changed: () => this.#invalidate(), closed: () => this.registry.dismiss(true) },
      () => this.registry.hasStandIns,
    );
    this.#health = new HealthChecks(auth ?? {}, () => this.#invalidate());
    this.#routes = new Routes({
      policy: options.policy ?? NO_POLICY,
      candidates: (context) => candidatesFor(this, context),
      narrowed: () => narrowedInputs(this.registry.all()),
    });
    this.#parts = this.#dispatchParts(report);
  }

  /** With `before`, in the place of another set: its drivers serve until those of here were looked at, each by itself. */
  static async open(
    options: ContractsOptions,
    changed: () => void,
    before?: ContractSet,
  ): Promise<ContractSet> {
    const set = new ContractSet(options, await prepareContracts(options.contracts), changed, before);
    try {
      await set.#store.reload();
    } catch (error) {
      set.close();
      throw error;
    }
    for (const { driver, hooks } of options.drivers) set.#add(driver, hooks ?? {});
    set.registry.dismiss();
    return set;
  }

  /** Whatever is being looked at in the background has been, or so much time has passed. */
  settled(ms?: number): Promise<void> {
    return this.#looks.settled(ms);
  }

  /** Takes a driver in, or takes the place of its earlier version. Tells everything that is wrong with it. */
  async register(driver: Driver, hooks: DriverHooks = {}): Promise<readonly Diagnostic[]> {
    const { registered, looked } = this.#add(driver, hooks);
    this.registry.dismiss();
    await looked;
    return registered.problems;
  }

  /** A contract of the workspace is never replaced. */
  async addContract(contract: Contract): Promise<readonly Diagnostic[]> {
    const { id, version, origin } = contract;
    const own = this.options.contracts.find((one) => one.id === id);
    if (own !== undefined) {
      const message = `the contract ${id} is not added: ${own.origin.file} has one of that id`;
      return [
        {
          code: "NAME_AMBIGUOUS",
          severity: "error",
          message,
          file: origin.file,
          hint: "Give it another id.",
        },
      ];
    }
    const prepared = await prepareContract(contract);
    const before = this.#contracts.findIndex((one) => one.id === id && one.version === version);
    this.#contracts.splice(before < 0 ? this.#contracts.length : before, 1, contract);
    this.shelf.add(prepared);
    this.grants?.require(contract);
    this.options.contractAdded?.(contract);
    this.#invalidate();
    // A driver that was refused because the contract was missing may fit now.
    const waiting = [...this.registry.shown()].filter(
      ({ server, driver }) => server === "refused" && driver.implements.some(({ tool }) => idIn(tool) === id),
    );
    await Promise.all(waiting.map(({ driver, hooks }) => this.register(driver, hooks)));
    return [];
  }

  /** Where nobody serves in its place it can be called at once: whoever is faster than the look at its server waits for that one. */
  #add(driver: Driver, hooks: DriverHooks): { registered: Registered; looked: Promise<void> } {
    const eager = this.options.probe !== "lazy";
    const registered = this.registry.add(driver, hooks, eager);
    this.#health.watch(registered, this.context({}));
    const looked = eager ? this.#probe(registered) : Promise.resolve();
    this.#looks.add(looked);
    return { registered, looked };
  }

  /** Whether a set that takes the place of this one still uses its drivers. */
  get lending(): boolean {
    return this.#succession.lending;
  }

  unregister(id: string): void {
    this.#health.forget(id);
    this.registry.remove(id);
  }

  call(call: ContractCall): Promise<Dispatched> {
    return this.#succession.track(dispatch(call, this.context(call.context ?? NOBODY), this.#parts));
  }

  /** Why which driver would be chosen, without calling it. */
  explain(tool: string, context: CallContext = {}, inputs: readonly string[] = []): Resolution | undefined {
    const contract = this.shelf.find(tool)?.contract;
    if (contract === undefined) return undefined;
    const { pinnedProvider: pin, regionConstraint: region } = context;
    return this.#routes.resolve({ contract, inputs, pin, region }, this.context(context));
  }

  /** Logs in to a driver now, whoever is there to do it; what it needs is asked for. */
  async login(id: string, context: CallContext = {}, signal?: AbortSignal): Promise<AuthOutcome> {
    const registered = this.registry.find(id);
    if (registered === undefined)
      return { ok: false, failure: fail("not_found", `There is no driver ${id}.`) };
    const { driver, hooks } = registered;
    if (!this.auth.concerns(driver, hooks)) return { ok: true };
    return this.auth.ready(driver, hooks, this.context({ ...context, interactive: true }), signal);
  }

  /** Nobody is logged in to the driver any more; what its programs keep of the login is left to them. */
  async logout(id: string, context: CallContext = {}): Promise<boolean> {
    const registered = this.registry.find(id);
    if (registered === undefined || !this.auth.concerns(registered.driver, registered.hooks)) return false;
    await this.auth.logout(registered.driver, this.context(context));
    return true;
  }

  status(context: CallContext = {}): readonly DriverReport[] {
    const who = this.context(context);
    return Array.from(this.registry.shown(), (registered) => reportOf(registered, this.auth, who));
  }

  close(): void {
    this.#looks.close();
    this.#health.close();
    this.registry.close();
    this.#succession.close();
  }

  async #probe(registered: Registered): Promise<void> {
    const { driver, hooks } = registered;
    const context = this.context({});
    const tool = this.#toolFor(registered, context);
    // Whoever is not logged in would only be told so; the server is looked at with the first call that is.
    const isIn = !this.auth.concerns(driver, hooks) || this.auth.stateOf(driver, hooks, context) === "authed";
    if (tool !== undefined && isIn) {
      await this.registry.probe(registered, { context, tool });
      if (registered.server === "fits") await this.#health.first(registered, context);
    }
    this.registry.arrived(registered);
  }

  /** One for which the server may be started; failing that any, which tells why not. */
  #toolFor({ driver, bound }: Registered, context: CallContext): string | undefined {
    const tools = [...bound.keys()];
    return tools.find((tool) => this.grants?.denial(driver, tool, context) === undefined) ?? tools[0];
  }

  /** Starts the server if need be, and asks whether it is well. Whoever routes again afterwards knows more. */
  async #look(id: string, who: Acquirer): Promise<void> {
    const registered = this.registry.get(id);
    if (registered === undefined) return;
    try {
      await registered.acquire(who);
      await this.#health.first(registered, this.context({}));
    } catch {
      // It is written down where it went wrong, and is not chosen then.
    }
  }

  async #lookAgain(ids: readonly string[], { context, tool }: Acquirer): Promise<void> {
    const found = ids.flatMap((id) => this.registry.get(id) ?? []);
    await Promise.all(found.map((one) => one.lookAgain({ context, tool })));
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

  #invalidate(): void {
    this.#routes.invalidate();
    this.shelf.outdated();
    this.#changed();
    this.#succession.changed();
  }

  #dispatchParts(report: Report): DispatchParts {
    const { policy, approve, audit, checkArguments } = this.options;
    return {
      contract: (tool) => this.shelf.find(tool),
      contractIds: () => this.shelf.ids,
      isServed: (id) => this.shelf.offered().has(id),
      route: (request, context) => this.#routes.resolve(request, context),
      ready: (driver, contract) => {
        const registered = this.registry.get(driver);
        const bound = registered?.bound.get(contract);
        return registered === undefined || bound === undefined
          ? undefined
          : { bound, hooks: registered.hooks };
      },
      acquire: (bound, who) => (this.registry.ownerOf(bound) as Registered).acquire(who),
      look: (driver, who) => this.#look(driver, who),
      lookAgain: (drivers, who) => this.#lookAgain(drivers, who),
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
