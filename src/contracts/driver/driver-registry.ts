// The drivers that are registered: what each is found to be. One that does not fit is withdrawn, the others stay.

import type { Diagnostic, Report } from "../../errors/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { hasHealthCheck } from "./health-check.ts";
import { lookWith } from "../verification/compare-server.ts";
import type { Registered } from "./registered-driver.ts";
import { checkDriver } from "../registration/check-driver.ts";
import { type Acquire, ServerChecks } from "../verification/verifier.ts";
import { Serving } from "./serving.ts";
import { type Bumps, bumpProblems, refKindProblems } from "../registration/driver-conflicts.ts";
import type { BoundTool, DriverHooks } from "./bound-tool.ts";

export interface RegistryOptions {
  readonly contracts: readonly Contract[];
  readonly acquire: Acquire;
  readonly report: Report;
  readonly root: string | undefined;
  /** Default: `warn`. */
  readonly bumps: Bumps | undefined;
  /** The drivers as they were registered before this program ran, by id. */
  readonly earlier: ReadonlyMap<string, Driver> | undefined;
  /** Drivers of whoever's place this takes: they serve until those of here were looked at. */
  readonly before: Iterable<Registered>;
  /** Something that routing or the lists depend on is not what it was. */
  readonly changed: () => void;
  /** A server of the driver was found to fit. */
  readonly fits: (registered: Registered) => void;
}

export class DriverRegistry {
  readonly #options: Omit<RegistryOptions, "before">;
  readonly #checks: ServerChecks;
  readonly #serving: Serving;
  /** Drivers of others, which are theirs to forget; not held any longer than they serve here. */
  readonly #lent: Set<Registered>;
  /** Whose each binding is, also after another has taken the driver's place. */
  readonly #owners = new WeakMap<BoundTool, Registered>();

  constructor({ before, ...options }: RegistryOptions) {
    const { contracts, root, report, acquire, changed, fits } = options;
    this.#options = options;
    this.#checks = new ServerChecks({
      acquire,
      look: lookWith(contracts, root, report),
      report,
      isCurrent: (registered) => this.#serving.has(registered),
      changed,
      fits,
    });
    this.#lent = new Set(before);
    for (const registered of this.#lent) this.#own(registered);
    this.#serving = new Serving(this.#lent, (registered) => this.#forget(registered));
  }

  /** Whoever serves as this driver now. */
  get(id: string): Registered | undefined {
    return this.#serving.get(id);
  }

  /** Whoever serves as this driver, or waits to. */
  find(id: string): Registered | undefined {
    return this.#serving.get(id) ?? this.#serving.declaredAs(id);
  }

  /** All who serve now. */
  all(): Iterable<Registered> {
    return this.#serving.all();
  }

  /** All who serve, and those who wait for it and have nobody in their place. */
  *shown(): Iterable<Registered> {
    yield* this.#serving.all();
    for (const one of this.#serving.declared()) if (this.#serving.get(one.driver.id) === undefined) yield one;
  }

  get hasStandIns(): boolean {
    return this.#serving.hasStandIns;
  }

  isStandIn(registered: Registered): boolean {
    return this.#serving.isStandIn(registered);
  }

  ownerOf(bound: BoundTool): Registered | undefined {
    return this.#owners.get(bound);
  }

  /** Everything that can be told without the server. With `looked`, it is probed afterwards. `dismiss` follows. */
  add(driver: Driver, hooks: DriverHooks, looked: boolean): Registered {
    const { contracts, root, report, changed } = this.#options;
    const checked = checkDriver(driver, contracts, undefined, { root, hooks });
    const standing = this.#standing(driver);
    const problems = [...standing, ...checked.problems];
    const broken = problems.find(({ severity }) => severity === "error");
    const registered: Registered = {
      driver,
      hooks,
      server: broken === undefined ? "unchecked" : "refused",
      reason: broken?.message,
      code: undefined,
      bound: new Map((broken === undefined ? checked.bound : []).map((one) => [one.contract.id, one])),
      problems,
      standing,
      broken: broken !== undefined,
      healthyAt: undefined,
      health: "unknown",
      healthAsked: !hasHealthCheck(driver),
      prompts: [],
      lacks: new Set(),
      checks: new Map(),
      processes: new Map(),
      acquire: (who) => this.#checks.acquire(registered, who),
      lookAgain: (who) => this.#checks.lookAgain(registered, who),
    };
    this.#own(registered);
    this.#serving.add(registered, looked);
    for (const problem of problems) report(problem);
    changed();
    return registered;
  }

  remove(id: string): void {
    if (this.#serving.declaredAs(id) === undefined) return;
    this.#serving.remove(id);
    this.#options.changed();
  }

  /** Looks at the server now. Never fails. */
  probe(registered: Registered, who: Acquirer): Promise<void> {
    return this.#checks.probe(registered, who);
  }

  /** It was looked at, or cannot be: from now on it serves, if it can. */
  arrived(registered: Registered): void {
    if (this.#serving.arrived(registered)) this.#options.changed();
  }

  /** Lets those of before go who are not needed; with `all`, every one of them. */
  dismiss(all = false): void {
    this.#serving.dismiss(all);
    this.#options.changed();
  }

  close(): void {
    for (const registered of this.#serving.clear()) this.#forget(registered);
    this.#checks.close();
  }

  #forget(registered: Registered): void {
    if (!this.#lent.delete(registered)) this.#checks.forgetAll(registered);
  }

  #own(registered: Registered): void {
    for (const bound of registered.bound.values()) this.#owners.set(bound, registered);
  }

  #standing(driver: Driver): readonly Diagnostic[] {
    const declared = [...this.#serving.declared()];
    const replaced = declared.find((one) => one.driver.id === driver.id)?.driver;
    const earlier = replaced ?? this.#options.earlier?.get(driver.id);
    const others = declared.flatMap((one) => (one.server === "refused" ? [] : [one.driver]));
    return [
      ...refKindProblems(driver, others),
      ...(earlier === undefined ? [] : bumpProblems(earlier, driver, this.#options.bumps ?? "warn")),
    ];
  }
}
