// One registered version of a driver: what its file says, with the verification and the health check that own its state.

import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { fail } from "../dispatch/failure.ts";
import type { DriverVerification } from "../verification/driver-verification.ts";
import type { BoundTool, DriverHooks } from "./bound-tool.ts";
import type { DriverVersion } from "./hand-over.ts";
import type { HealthCheck } from "./health-check.ts";

export interface RegisteredParts {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  readonly bound: ReadonlyMap<string, BoundTool>;
  readonly named: readonly string[];
  readonly isBroken: boolean;
  readonly codeRefusal: Diagnostic | undefined;
  readonly verification: DriverVerification;
  readonly health: HealthCheck;
}

export class RegisteredDriver implements DriverVersion {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** By contract id; empty when the file does not match its contracts. */
  readonly bound: ReadonlyMap<string, BoundTool>;
  /** The ids of the contracts that its bindings name, also when the file does not match them. */
  readonly named: readonly string[];
  readonly isBroken: boolean;
  /** Why the code of the driver did not run, so that its hooks are missing. */
  readonly codeRefusal: Diagnostic | undefined;
  readonly verification: DriverVerification;
  readonly health: HealthCheck;

  constructor(parts: RegisteredParts) {
    const { driver, hooks, bound, named, isBroken, codeRefusal, verification, health } = parts;
    this.driver = driver;
    this.hooks = hooks;
    this.bound = bound;
    this.named = named;
    this.isBroken = isBroken;
    this.codeRefusal = codeRefusal;
    this.verification = verification;
    this.health = health;
  }

  get status(): DriverVersion["status"] {
    const { kind } = this.verification.overall;
    return kind === "verified" || kind === "refused" ? kind : "unknown";
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.verification.diagnostics;
  }

  /** The live server, verified. */
  acquire(who: Acquirer): Upstream | Promise<Upstream> {
    return this.verification.acquire(who);
  }

  /** Returns the server. Throws if the tool of the binding must not be called. */
  requireApproved({ binding }: BoundTool, { context }: Acquirer, upstream: Upstream): Upstream {
    if (!this.verification.hasWithheld) return upstream;
    const reason = this.verification.withheldFor(context).get(binding.toolName);
    if (reason === undefined) return upstream;
    throw fail("tool_unavailable", `${this.driver.id}: ${reason}`, { retryable: false });
  }

  close(): void {
    this.verification.close();
    this.health.close();
  }
}
