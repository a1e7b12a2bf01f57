// Whether drivers are well, by the check that each declares: an MCP ping, a command, a request, or nothing.

import type { Driver, DriverHealthCheck } from "../../model/index.ts";
import type { AuthPorts } from "../auth/login-steps.ts";
import { toFailure } from "../dispatch/failure.ts";
import type { Registered } from "./registered-driver.ts";
import type { CallContext } from "./bound-tool.ts";

/** Checks that did not come for this many times their pause say nothing any more. */
const STALE_AFTER = 3;
const LEAST_PAUSE_MS = 1_000;
/** A driver that does not say how often, and is not well, may be so later. */
const RECOVERY_MS = 60_000;
const NOT_ALLOWED: ReadonlySet<string> = new Set(["auth_required", "unauthorised"]);

export function hasHealthCheck({ healthCheck }: Driver): boolean {
  return healthCheck !== undefined && healthCheck.method !== "noop";
}

export class HealthChecks {
  readonly #ports: AuthPorts;
  readonly #changed: () => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #first = new WeakMap<Registered, Promise<boolean>>();

  constructor(ports: AuthPorts, changed: () => void) {
    this.#ports = ports;
    this.#changed = changed;
  }

  /** From now on, as often as the driver asks for. A driver that nobody uses is not started for it. */
  watch(registered: Registered, context: CallContext): void {
    const { driver } = registered;
    this.forget(driver.id);
    if (!hasHealthCheck(driver)) return;
    const { everyMs } = driver.healthCheck ?? {};
    const every = Math.max(LEAST_PAUSE_MS, everyMs ?? RECOVERY_MS);
    const timer = setInterval(() => {
      const due = everyMs !== undefined || registered.health === "failed";
      if (due && registered.server === "fits") void this.check(registered, context);
      if (everyMs === undefined) return;
      const { healthyAt, health } = registered;
      if (health === "healthy" && healthyAt !== undefined && Date.now() - healthyAt > every * STALE_AFTER)
        this.#set(registered, "stale");
    }, every).unref();
    this.#timers.set(driver.id, timer);
  }

  /** Once, when its server was found to fit; whoever asks again waits for the same answer. */
  first(registered: Registered, context: CallContext): Promise<boolean> {
    let asked = this.#first.get(registered);
    if (asked === undefined) {
      asked = this.check(registered, context).finally(() => {
        if (registered.healthAsked) return;
        registered.healthAsked = true;
        this.#changed();
      });
      this.#first.set(registered, asked);
    }
    return asked;
  }

  async check(registered: Registered, context: CallContext): Promise<boolean> {
    const { healthCheck } = registered.driver;
    if (healthCheck === undefined || !hasHealthCheck(registered.driver)) return true;
    let problem: string | undefined;
    try {
      problem = await this.#ask(registered, healthCheck, context);
    } catch (thrown) {
      const { code, message } = toFailure(unwrapped(thrown)).error;
      // A caller without the right to use it cannot tell whether it is healthy.
      if (NOT_ALLOWED.has(code)) return registered.health !== "failed";
      problem = message;
    }
    if (problem === undefined) registered.healthyAt = Date.now();
    this.#set(registered, problem === undefined ? "healthy" : "failed", problem);
    return problem === undefined;
  }

  forget(id: string): void {
    clearInterval(this.#timers.get(id));
    this.#timers.delete(id);
  }

  close(): void {
    for (const timer of this.#timers.values()) clearInterval(timer);
    this.#timers.clear();
  }

  /** Gives what is wrong; undefined when the driver is healthy. */
  async #ask(
    registered: Registered,
    check: DriverHealthCheck,
    context: CallContext,
  ): Promise<string | undefined> {
    const { driver, bound } = registered;
    const signal = AbortSignal.timeout(check.timeoutMs);
    switch (check.method) {
      case "ping": {
        const [tool = ""] = bound.keys();
        const running = [...registered.checks.keys()];
        const all = running.length > 0 ? running : [await registered.acquire({ context, tool, signal })];
        // Each user may have a process of their own: one that hangs is not all of them.
        await Promise.any(
          all.map((one) => one.request({ method: "ping", timeoutMs: check.timeoutMs, signal })),
        );
        return undefined;
      }
      case "exec": {
        if (check.command === undefined || this.#ports.run === undefined)
          return "its command cannot be run here";
        const ran = await this.#ports.run(check.command, { driver, context, interactive: false, signal });
        const wanted = check.expectExit ?? 0;
        if (ran.exitCode === wanted) return undefined;
        return `${check.command} exited with code ${ran.exitCode}${wanted === 0 ? "" : `, not ${wanted}`}`;
      }
      case "http": {
        if (check.http === undefined || this.#ports.http === undefined)
          return "its request cannot be made here";
        const { url, expectStatus } = check.http;
        const { status } = await this.#ports.http(check.http, signal, driver);
        const isHealthy = expectStatus === undefined ? status < 400 : status === expectStatus;
        if (isHealthy) return undefined;
        return `${url} answered with status ${status}${expectStatus === undefined ? "" : `, not ${expectStatus}`}`;
      }
      default:
        return undefined;
    }
  }

  #set(registered: Registered, health: Registered["health"], reason?: string): void {
    registered.healthReason = reason;
    if (registered.health === health) return;
    registered.health = health;
    this.#changed();
  }
}

/** The first of several errors. */
function unwrapped(thrown: unknown): unknown {
  return thrown instanceof AggregateError ? (thrown.errors[0] ?? thrown) : thrown;
}
