// Health check of one driver, as its DRIVER.md declares it: an MCP ping, a command, an HTTP request, or none.

import { isPortolanError } from "../../errors/index.ts";
import { type Driver, type DriverHealthCheck, RPC } from "../../model/index.ts";
import type { AuthPorts } from "../auth/login-steps.ts";
import type { CallContext } from "../contract/call-context.ts";
import { toFailure } from "../dispatch/failure.ts";
import type { DriverVerification } from "../verification/driver-verification.ts";

/** `unknown`: nothing checks it. `stale`: it was not checked for too long. */
export type HealthStatus = "healthy" | "failed" | "stale" | "unknown";

export interface HealthCheckOptions {
  readonly driver: Driver;
  /** A contract that the driver serves; the server is acquired on its behalf. */
  readonly contract: string;
  readonly verification: DriverVerification;
  readonly ports: AuthPorts;
  readonly context: CallContext;
  readonly changed: () => void;
}

/** A result older than this many intervals is stale. */
const STALE_AFTER = 3;
const MIN_INTERVAL_MS = 1_000;
/** How often a failed check is repeated when the driver does not say. */
const RECOVERY_MS = 60_000;
const NOT_ALLOWED: ReadonlySet<string> = new Set(["auth_required", "unauthorised"]);

export class HealthCheck {
  readonly #options: HealthCheckOptions;
  readonly #check: DriverHealthCheck | undefined;
  #status: HealthStatus = "unknown";
  #reason: string | undefined;
  #healthyAt: number | undefined;
  #isChecked: boolean;
  #first: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    const { healthCheck } = options.driver;
    this.#check = healthCheck?.method === "noop" ? undefined : healthCheck;
    this.#isChecked = this.#check === undefined;
  }

  get status(): HealthStatus {
    return this.#status;
  }

  /** Why the last check failed. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Time of the last successful check, in milliseconds since 1970. */
  get healthyAt(): number | undefined {
    return this.#healthyAt;
  }

  /** The first check has ended, or the driver declares none. */
  get isChecked(): boolean {
    return this.#isChecked;
  }

  /** Repeats the check as often as the driver declares. It never starts a server. */
  start(): void {
    if (this.#check === undefined) return;
    const { everyMs } = this.#check;
    const interval = Math.max(MIN_INTERVAL_MS, everyMs ?? RECOVERY_MS);
    this.#timer = setInterval(() => {
      const isDue = everyMs !== undefined || this.#status === "failed";
      if (isDue && this.#options.verification.overall.kind === "verified") void this.#run();
      const age = Date.now() - (this.#healthyAt ?? Infinity);
      if (everyMs !== undefined && this.#status === "healthy" && age > interval * STALE_AFTER)
        this.#set("stale", undefined);
    }, interval).unref();
  }

  /** Checks once after the first verification. Later callers wait for the same check. */
  first(): Promise<void> {
    this.#first ??= this.#run().finally(() => {
      if (this.#isChecked) return;
      this.#isChecked = true;
      this.#options.changed();
    });
    return this.#first;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #run(): Promise<void> {
    if (this.#check === undefined) return;
    let problem: string | undefined;
    try {
      problem = await this.#send(this.#check);
    } catch (thrown) {
      const { code, message } = toFailure(firstError(thrown)).error;
      // A caller without the right to use the driver cannot find out whether it is healthy.
      if (NOT_ALLOWED.has(code)) return;
      problem = message;
    }
    if (problem === undefined) this.#healthyAt = Date.now();
    this.#set(problem === undefined ? "healthy" : "failed", problem);
  }

  /** Returns the problem; undefined when the driver is healthy. */
  async #send(check: DriverHealthCheck): Promise<string | undefined> {
    const { driver, contract, verification, ports, context } = this.#options;
    const signal = AbortSignal.timeout(check.timeoutMs);
    switch (check.method) {
      case "ping": {
        const { servers } = verification;
        const all =
          servers.length > 0 ? servers : [await verification.acquire({ context, tool: contract, signal })];
        // Each user may have a process of their own: one that hangs does not make the driver unhealthy.
        await Promise.any(
          all.map((one) =>
            one.request({ method: "ping", timeoutMs: check.timeoutMs, signal }).catch((thrown: unknown) => {
              // Some servers do not implement ping, but answer.
              if (!isPortolanError(thrown) || thrown.data.rpcCode !== RPC.METHOD_NOT_FOUND) throw thrown;
            }),
          ),
        );
        return undefined;
      }
      case "exec": {
        if (check.command === undefined || ports.run === undefined)
          return "this process cannot run the command of the check";
        const ran = await ports.run(check.command, { driver, context, interactive: false, signal });
        const expected = check.expectExit ?? 0;
        if (ran.exitCode === expected) return undefined;
        const said = ran.said?.trim().split("\n").at(-1) ?? "";
        const code = `${ran.exitCode}${expected === 0 ? "" : `, not ${expected}`}`;
        return `${check.command} exited with code ${code}${said === "" ? "" : `: ${said}`}`;
      }
      case "http": {
        if (check.http === undefined || ports.http === undefined)
          return "this process cannot send the request of the check";
        const { url, expectStatus } = check.http;
        const { status } = await ports.http(check.http, signal, driver);
        const isHealthy = expectStatus === undefined ? status < 400 : status === expectStatus;
        if (isHealthy) return undefined;
        return `${url} answered with status ${status}${expectStatus === undefined ? "" : `, not ${expectStatus}`}`;
      }
      default:
        return undefined;
    }
  }

  #set(status: HealthStatus, reason: string | undefined): void {
    this.#reason = reason;
    if (this.#status === status) return;
    this.#status = status;
    this.#options.changed();
  }
}

function firstError(thrown: unknown): unknown {
  return thrown instanceof AggregateError ? (thrown.errors[0] ?? thrown) : thrown;
}
