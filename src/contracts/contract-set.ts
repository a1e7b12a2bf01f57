// One set of contracts and the drivers that serve them: registration, routing, calls and logins, until the next reload.

import { type Diagnostic, hintedMessage, type Report } from "../errors/index.ts";
import { type Contract, type Driver, idIn, type JsonObject } from "../model/index.ts";
import { AuthMachine, type AuthOutcome, type AuthTransition } from "./auth/auth-machine.ts";
import { type AuthStore, createAuthStore } from "./auth/auth-store.ts";
import type { AuthPorts } from "./auth/login-steps.ts";
import type { SecretGrants } from "./auth/secret-grants.ts";
import type { CallContext } from "./contract/call-context.ts";
import { ContractCatalog, prepareContracts } from "./contract/contract-catalog.ts";
import { prepareContract } from "./contract/prepared-contract.ts";
import { exposedName } from "../client/index.ts";
import type { Audit } from "./dispatch/audit.ts";
import type { Acquirer, Approve, ContractCall, Dispatched, DispatchParts } from "./dispatch/contract-call.ts";
import { dispatch } from "./dispatch/dispatch.ts";
import { fail } from "./dispatch/failure.ts";
import type { BoundTool, DriverHooks } from "./driver/bound-tool.ts";
import { type DriverEntry, DriverRegistry } from "./driver/driver-registry.ts";
import { type DriverReport, reportOf } from "./driver/driver-state.ts";
import type { RegisteredDriver } from "./driver/registered-driver.ts";
import { SetHandOver } from "./driver/hand-over.ts";
import type { RefusedContract } from "./registration/check-driver.ts";
import type { Bumps } from "./registration/driver-conflicts.ts";
import { candidatesFor, narrowedInputs } from "./routing/candidates.ts";
import type { ContractPolicy } from "./routing/policy.ts";
import { RouteCache } from "./routing/route-cache.ts";
import type { Resolution } from "./routing/route.ts";
import { BackgroundTasks } from "./verification/background-tasks.ts";
import type { ToolApproval } from "./verification/compare-server.ts";
import type { Acquire } from "./verification/driver-verification.ts";

export interface ContractsOptions {
  readonly name?: string;
  readonly contracts: readonly Contract[];
  /** Contracts that are not among them because of an error. */
  readonly refused?: readonly RefusedContract[];
  /** A program has added a contract. */
  readonly contractAdded?: (contract: Contract) => void;
  readonly drivers: readonly DriverEntry[];
  readonly acquire: Acquire;
  readonly policy?: ContractPolicy;
  readonly approve?: Approve;
  /** The hint of a call that no person can approve. */
  readonly approvalHint?: string;
  readonly audit?: Audit;
  readonly report?: Report;
  /** Folder of the workspace; paths of contracts are resolved from it first. */
  readonly root?: string;
  readonly workspaceId?: string;
  /** User of calls that name none. */
  readonly userId?: string;
  /** Checked with every call; `acquire` gets the values from it. Without it, `acquire` resolves secrets by itself. */
  readonly secrets?: SecretGrants;
  readonly auth?: AuthPorts & { readonly file?: string };
  /** A user has logged in to a driver, or out of it. */
  readonly authChanged?: (transition: AuthTransition) => void;
  /** Why a resource URI must not reach a driver's server; undefined when it may. */
  readonly checkUri: (driver: Driver, uri: string) => string | undefined | Promise<string | undefined>;
  /** The same for the arguments of a call. */
  readonly checkArguments?: (bound: BoundTool, args: JsonObject) => string | undefined;
  /** How a driver is treated whose changes need a larger step of its version. Default: `warn`. */
  readonly bumps?: Bumps;
  /** The drivers as they were registered before this program ran, by id; `bumps` applies to them too. */
  readonly earlier?: ReadonlyMap<string, Driver>;
  /** Tools of drivers' servers that must not be called, because nobody approved their definition. */
  readonly toolApproval?: ToolApproval;
  /** `eager` starts and verifies every driver's server now; `lazy` with the first call. Default: `eager`. */
  readonly probe?: "eager" | "lazy";
}

export class ContractSet {
  readonly options: ContractsOptions;
  readonly registry: DriverRegistry;
  readonly catalog: ContractCatalog;
  readonly grants: SecretGrants | undefined;
  readonly auth: AuthMachine;
  readonly #store: AuthStore;
  readonly #routes: RouteCache;
  readonly #changed: () => void;
  readonly #report: Report;
  readonly #parts: DispatchParts;
  readonly #verifications = new BackgroundTasks();
  /** The contracts of the options, and the ones that were added since. */
  readonly #contracts: Contract[];
  readonly #handOver: SetHandOver;
  readonly #stopListening: (() => void) | undefined;

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
    this.#report = report;
    this.grants = secrets;
    this.#store = createAuthStore(auth?.file);
    this.auth = new AuthMachine(this.#store, auth ?? {}, (transition) => {
      if (transition.from !== transition.to) options.authChanged?.(transition);
      this.#invalidate();
    });
    this.registry = new DriverRegistry({
      ...{ root, bumps, acquire, report },
      contracts: this.#contracts,
      refused: options.refused,
      earlier: options.earlier,
      before: before?.registry.all() ?? [],
      healthPorts: auth ?? {},
      context: this.context({}),
      changed: () => this.#invalidate(),
      toolApproval: options.toolApproval,
    });
    this.#stopListening = options.toolApproval?.onChange(() => {
      for (const { verification } of this.registry.shown()) verification.compareAgain();
    });
    const offered = before?.catalog.offered() ?? new Map<string, never>();
    this.catalog = new ContractCatalog(prepared, offered, () => this.registry.all());
    this.#handOver = new SetHandOver(
      before === undefined ? undefined : before.#handOver,
      { changed: () => this.#invalidate(), closed: () => this.registry.releaseAll() },
      () => this.registry.hasPredecessors,
    );
    this.#routes = new RouteCache({
      policy: options.policy ?? NO_POLICY,
      candidates: (context) => candidatesFor(this, context),
      narrowed: () => narrowedInputs(this.registry.all()),
    });
    this.#parts = this.#dispatchParts(report);
  }

  /** With `before`, takes over from another set: each driver of that one serves until its successor is verified. */
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
    for (const entry of options.drivers) set.#add(entry);
    set.registry.releaseUnneeded();
    return set;
  }

  /** Resolves when the verifications in the background have ended, or when the time is over. */
  settled(ms?: number): Promise<void> {
    return this.#verifications.settled(ms);
  }

  /** Registers a driver, or replaces its earlier version. Returns all diagnostics about it, which are not reported then. */
  async register(driver: Driver, hooks: DriverHooks = {}): Promise<readonly Diagnostic[]> {
    let found: Diagnostic[] | undefined = [];
    const report: Report = (diagnostic) =>
      found === undefined ? this.#report(diagnostic) : void found.push(diagnostic);
    const { diagnostics } = await this.#register({ driver, hooks }, report);
    for (const one of found) if (!diagnostics.includes(one)) this.#report(one);
    found = undefined;
    return diagnostics;
  }

  async #register(entry: DriverEntry, report?: Report): Promise<RegisteredDriver> {
    const { registered, verification } = this.#add(entry, report);
    this.registry.releaseUnneeded();
    await verification;
    return registered;
  }

  /** A contract of the workspace is never replaced. */
  async addContract(contract: Contract): Promise<readonly Diagnostic[]> {
    const { id, version } = contract;
    const own = this.options.contracts.find((one) => one.id === id);
    if (own !== undefined) {
      const message = `the contract ${id} was not added: ${own.origin.file} has a contract with the same id`;
      return [
        {
          code: "NAME_AMBIGUOUS",
          severity: "error",
          message,
          hint: "Give one of the contracts another id.",
        },
      ];
    }
    const prepared = await prepareContract(contract);
    const before = this.#contracts.findIndex((one) => one.id === id && one.version === version);
    this.#contracts.splice(before < 0 ? this.#contracts.length : before, 1, contract);
    this.catalog.add(prepared);
    this.grants?.require(contract);
    this.options.contractAdded?.(contract);
    this.#invalidate();
    // A driver that was refused because the contract was missing may match now.
    const waiting = this.registry
      .shown()
      .filter(
        ({ status, driver, codeRefusal }) =>
          status === "refused" &&
          codeRefusal === undefined &&
          driver.implements.some(({ tool }) => idIn(tool) === id),
      );
    await Promise.all(waiting.map(({ driver, hooks }) => this.#register({ driver, hooks })));
    return [];
  }

  /** A driver without a predecessor can be called at once; a call that comes before its verification waits for it. */
  #add(
    entry: DriverEntry,
    report: Report = this.#report,
  ): { registered: RegisteredDriver; verification: Promise<void> } {
    const isEager = this.options.probe !== "lazy";
    const registered = this.registry.add(entry, isEager, report);
    const verification = isEager ? this.#verifyFirst(registered) : Promise.resolve();
    this.#verifications.add(verification);
    return { registered, verification };
  }

  /** True when a newer set still uses the drivers of this one. */
  get isHandingOver(): boolean {
    return this.#handOver.isInUse;
  }

  unregister(id: string): void {
    this.registry.remove(id);
  }

  call(call: ContractCall): Promise<Dispatched> {
    return this.#handOver.track(dispatch(call, this.context(call.context ?? NO_CONTEXT), this.#parts));
  }

  /** The route of a call and its reasons, without making the call. */
  explain(tool: string, context: CallContext = {}, inputs: readonly string[] = []): Resolution | undefined {
    const contract = this.catalog.find(tool)?.contract;
    if (contract === undefined) return undefined;
    const { pinnedProvider: pin, regionConstraint: region } = context;
    return this.#routes.resolve({ contract, inputs, pin, region }, this.context(context));
  }

  unservedReason(tool: string): string | undefined {
    return this.explain(tool)?.error?.message ?? this.#refusal(tool);
  }

  #refusal(tool: string): string | undefined {
    if (this.catalog.find(tool) !== undefined) return undefined;
    const isMeant = ({ contract: { id } }: RefusedContract): boolean =>
      id === idIn(tool) || exposedName(id) === tool;
    const refused = this.options.refused?.find(isMeant);
    return refused && hintedMessage(refused.diagnostic);
  }

  /** Logs in to a driver now, interactively. */
  async login(id: string, context: CallContext = {}, signal?: AbortSignal): Promise<AuthOutcome> {
    const registered = this.registry.find(id);
    if (registered === undefined)
      return { ok: false, failure: fail("not_found", `There is no driver ${id}.`) };
    const { driver, hooks, codeRefusal } = registered;
    // Only the code knows whether and how this driver logs in.
    if (codeRefusal !== undefined)
      return { ok: false, failure: fail("tool_unavailable", hintedMessage(codeRefusal)) };
    if (!this.auth.needsLogin(driver, hooks)) return { ok: true };
    return this.auth.ready(driver, hooks, this.context({ ...context, interactive: true }), signal);
  }

  /** Logs out of a driver. Files that its own programs keep are not touched. */
  async logout(id: string, context: CallContext = {}): Promise<boolean> {
    const registered = this.registry.find(id);
    if (registered === undefined || !this.auth.needsLogin(registered.driver, registered.hooks)) return false;
    await this.auth.logout(registered.driver, this.context(context));
    return true;
  }

  status(context: CallContext = {}): readonly DriverReport[] {
    const who = this.context(context);
    return this.registry.shown().map((registered) => reportOf(registered, this.auth, who));
  }

  close(): void {
    this.#stopListening?.();
    this.#verifications.close();
    this.registry.close();
    this.#handOver.close();
  }

  /** Verifies a new driver, so that a mismatch is known before the first call. Never rejects. */
  async #verifyFirst(registered: RegisteredDriver): Promise<void> {
    const { driver, hooks } = registered;
    const context = this.context({});
    const tool = this.#toolFor(registered, context);
    // Without a login the server could not be used; it is verified with the first call that has one.
    const hasAccess =
      !this.auth.needsLogin(driver, hooks) || this.auth.stateOf(driver, hooks, context) === "authed";
    if (tool !== undefined && hasAccess) {
      await registered.verification.verify({ context, tool });
      if (registered.status === "verified") await registered.health.first();
    }
    this.registry.finishVerification(registered);
  }

  /** A contract for which the server may be started; otherwise any, so that the reason is reported. */
  #toolFor({ driver, bound }: RegisteredDriver, context: CallContext): string | undefined {
    const tools = [...bound.keys()];
    return tools.find((tool) => this.grants?.denial(driver, tool, context) === undefined) ?? tools[0];
  }

  /** Starts the server if need be, and checks its health, so that the next route knows both. */
  async #verify(id: string, who: Acquirer): Promise<void> {
    const registered = this.registry.get(id);
    if (registered === undefined) return;
    try {
      await registered.acquire(who);
      await registered.health.first();
    } catch {
      // The state of the driver has the failure, so that routing rejects it.
    }
  }

  async #reverify(ids: readonly string[], { context, tool }: Acquirer): Promise<void> {
    const found = ids.flatMap((id) => this.registry.get(id) ?? []);
    await Promise.all(found.map(({ verification }) => verification.reverify({ context, tool })));
  }

  /** The context with the defaults of this set. */
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
    this.catalog.invalidate();
    this.#changed();
    this.#handOver.changed();
  }

  #dispatchParts(report: Report): DispatchParts {
    const { policy, approve, approvalHint, audit, checkArguments } = this.options;
    return {
      contract: (tool) => this.catalog.find(tool),
      contractIds: () => this.catalog.ids,
      refusal: (tool) => this.#refusal(tool),
      isServed: (id) => this.catalog.offered().has(id),
      route: (request, context) => this.#routes.resolve(request, context),
      ready: (driver, contract) => {
        const registered = this.registry.get(driver);
        const bound = registered?.bound.get(contract);
        return registered === undefined || bound === undefined
          ? undefined
          : { bound, hooks: registered.hooks };
      },
      acquire: (bound, who) => {
        const owner = this.registry.ownerOf(bound) as RegisteredDriver;
        const upstream = owner.acquire(who);
        // The server may have been compared again since the call was routed.
        if (upstream instanceof Promise)
          return upstream.then((one) => owner.requireApproved(bound, who, one));
        return owner.requireApproved(bound, who, upstream);
      },
      verify: (driver, who) => this.#verify(driver, who),
      slow: new Set(),
      reverify: (drivers, who) => this.#reverify(drivers, who),
      policy: policy ?? NO_POLICY,
      auth: this.auth,
      grants: this.grants,
      approve,
      approvalHint,
      audit,
      report,
      checkArguments,
    };
  }
}

const NO_POLICY: ContractPolicy = {};
const NO_CONTEXT: CallContext = {};
