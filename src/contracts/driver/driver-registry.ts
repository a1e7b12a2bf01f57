// Registry of drivers: registers and removes versions of them, and knows which version of each serves now.

import { type Diagnostic, hintedMessage, type Report, withoutFile } from "../../errors/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import type { AuthPorts } from "../auth/login-steps.ts";
import type { CallContext } from "../contract/call-context.ts";
import { checkDriver, namedContracts, type RefusedContract } from "../registration/check-driver.ts";
import { type Bumps, versionConflicts, refKindConflicts } from "../registration/driver-conflicts.ts";
import { compareServer, type ToolApproval } from "../verification/compare-server.ts";
import { type Acquire, DriverVerification } from "../verification/driver-verification.ts";
import type { BoundTool, DriverHooks } from "./bound-tool.ts";
import {
  addVersion,
  finishVerification,
  type HandOver,
  type HandOverStep,
  releaseAll,
  releaseUnneeded,
  removeDriver,
  serving,
  servingAs,
  startHandOver,
} from "./hand-over.ts";
import { HealthCheck } from "./health-check.ts";
import { RegisteredDriver } from "./registered-driver.ts";

export interface DriverEntry {
  readonly driver: Driver;
  readonly hooks?: DriverHooks;
  /** Why the code of the driver did not run. Such a driver is listed, and serves no call. */
  readonly refused?: Diagnostic;
}

export interface RegistryOptions {
  /** The contracts of the workspace; more may be added later. */
  readonly contracts: readonly Contract[];
  readonly refused: readonly RefusedContract[] | undefined;
  readonly acquire: Acquire;
  readonly report: Report;
  readonly root: string | undefined;
  /** Default: `warn`. */
  readonly bumps: Bumps | undefined;
  /** The drivers as they were registered before this program ran, by id. */
  readonly earlier: ReadonlyMap<string, Driver> | undefined;
  /** Drivers of the set before, which serve until the drivers of this one are verified. */
  readonly before: Iterable<RegisteredDriver>;
  readonly healthPorts: AuthPorts;
  /** On whose behalf health checks run. */
  readonly context: CallContext;
  /** Routing or the lists may have changed. */
  readonly changed: () => void;
  readonly toolApproval?: ToolApproval;
}

export class DriverRegistry {
  readonly #options: RegistryOptions;
  #handOver: HandOver<RegisteredDriver>;
  /** Drivers of the set before, which that set closes. */
  readonly #borrowed: Set<RegisteredDriver>;
  /** The version that each binding belongs to, also after another version has taken over. */
  readonly #owners = new WeakMap<BoundTool, RegisteredDriver>();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#borrowed = new Set(options.before);
    for (const registered of this.#borrowed) this.#own(registered);
    this.#handOver = startHandOver(this.#borrowed);
  }

  /** The version that serves as this driver now. */
  get(id: string): RegisteredDriver | undefined {
    return servingAs(this.#handOver, id);
  }

  /** The version that serves as this driver, or waits to. */
  find(id: string): RegisteredDriver | undefined {
    return this.get(id) ?? this.#handOver.current.get(id);
  }

  /** All versions that serve now. */
  all(): readonly RegisteredDriver[] {
    return serving(this.#handOver);
  }

  /** All versions that serve now, and the ones that wait without a predecessor. */
  shown(): readonly RegisteredDriver[] {
    const waiting = [...this.#handOver.current.values()].filter(
      ({ driver }) => this.get(driver.id) === undefined,
    );
    return [...this.all(), ...waiting];
  }

  get hasPredecessors(): boolean {
    return this.#handOver.predecessors.size > 0;
  }

  isPredecessor(registered: RegisteredDriver): boolean {
    return this.#handOver.predecessors.get(registered.driver.id) === registered;
  }

  ownerOf(bound: BoundTool): RegisteredDriver | undefined {
    return this.#owners.get(bound);
  }

  /** Checks the file and registers the driver. With `isVerified`, `finishVerification` follows; then `releaseUnneeded`. */
  add(
    { driver, hooks = {}, refused: codeRefusal }: DriverEntry,
    isVerified: boolean,
    report: Report,
  ): RegisteredDriver {
    const { contracts, refused, root } = this.#options;
    const conflicts = this.#conflictsOf(driver);
    const checked = checkDriver(driver, contracts, undefined, { root, hooks, refused });
    // Without its code, a driver can lack what the checks look for.
    const diagnostics =
      codeRefusal === undefined ? placed(driver, [...conflicts, ...checked.diagnostics]) : [codeRefusal];
    const error = diagnostics.find(({ severity }) => severity === "error");
    // The reason reaches places without hints, such as the error of a call.
    const refusal = error && hintedMessage(error);
    const bound = refusal === undefined ? checked.bound : [];
    const named = namedContracts(driver, contracts, { root, refused });
    const parts = { driver, hooks, bound, named, refusal, codeRefusal, diagnostics, conflicts, report };
    const registered = this.#register(parts);
    this.#own(registered);
    registered.health.start();
    this.#apply(addVersion(this.#handOver, registered, isVerified));
    for (const diagnostic of diagnostics) report(diagnostic);
    this.#options.changed();
    return registered;
  }

  remove(id: string): void {
    if (!this.#handOver.current.has(id)) return;
    this.#apply(removeDriver(this.#handOver, id));
    this.#options.changed();
  }

  /** The driver was verified, or cannot be: from now on it serves, if it can. */
  finishVerification(registered: RegisteredDriver): void {
    const before = this.#handOver;
    this.#apply(finishVerification(before, registered));
    if (this.#handOver !== before) this.#options.changed();
  }

  releaseUnneeded(): void {
    this.#apply(releaseUnneeded(this.#handOver));
    this.#options.changed();
  }

  /** Releases the drivers of the set before, whose servers are closed now. */
  releaseAll(): void {
    this.#apply(releaseAll(this.#handOver));
    this.#options.changed();
  }

  close(): void {
    const { current, predecessors } = this.#handOver;
    this.#apply([startHandOver<RegisteredDriver>([]), [...current.values(), ...predecessors.values()]]);
  }

  #apply([next, released]: HandOverStep<RegisteredDriver>): void {
    this.#handOver = next;
    for (const one of released) if (!this.#borrowed.delete(one)) one.close();
  }

  #register({ driver, hooks, bound, named, codeRefusal, report, ...checked }: Checked): RegisteredDriver {
    const { acquire, changed, healthPorts: ports, context } = this.#options;
    const verification = new DriverVerification({
      ...{ ...checked, driver, hooks, acquire, report, changed },
      hasNoCode: codeRefusal !== undefined,
      compare: async (upstream) => {
        const found = await compareServer({ driver, hooks }, upstream, this.#options);
        return { ...found, diagnostics: placed(driver, found.diagnostics) };
      },
      verified: () => void health.first(),
    });
    const contract = bound[0]?.contract.id ?? "";
    const health = new HealthCheck({ driver, contract, verification, ports, context, changed });
    return new RegisteredDriver({
      ...{ driver, hooks, named, codeRefusal, verification, health },
      bound: new Map(bound.map((one) => [one.contract.id, one])),
      isBroken: checked.refusal !== undefined,
    });
  }

  #own(registered: RegisteredDriver): void {
    for (const bound of registered.bound.values()) this.#owners.set(bound, registered);
  }

  /** Conflicts with the earlier version of the driver, and with other drivers. */
  #conflictsOf(driver: Driver): readonly Diagnostic[] {
    const current = [...this.#handOver.current.values()];
    const replaced = current.find((one) => one.driver.id === driver.id)?.driver;
    const earlier = replaced ?? this.#options.earlier?.get(driver.id);
    const others = current.flatMap((one) => (one.status === "refused" ? [] : [one.driver]));
    return [
      ...refKindConflicts(driver, others),
      ...(earlier === undefined ? [] : versionConflicts(earlier, driver, this.#options.bumps ?? "warn")),
    ];
  }
}

interface Checked {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  readonly bound: readonly BoundTool[];
  readonly named: readonly string[];
  /** Why the file does not match its contracts; undefined when it does. */
  readonly refusal: string | undefined;
  readonly codeRefusal: Diagnostic | undefined;
  readonly diagnostics: readonly Diagnostic[];
  readonly conflicts: readonly Diagnostic[];
  readonly report: Report;
}

function placed({ origin }: Driver, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return origin.inCode === true ? diagnostics.map(withoutFile) : diagnostics;
}
