// State of a driver as a whole, computed from the states of its processes, and the report about it.

import type { Diagnostic } from "../../errors/index.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { AuthState } from "../auth/auth-store.ts";
import type { CallContext } from "../contract/call-context.ts";
import { type SettledState, STILL_STARTING, UNVERIFIED } from "../verification/verification.ts";
import type { HealthStatus } from "./health-check.ts";
import type { RegisteredDriver } from "./registered-driver.ts";

/** `unreachable`: the server did not start or answer. `refused`: it does not match the contracts. */
export type ServerStatus = "verified" | "unverified" | "unreachable" | "refused";

/** The state of a driver: its server, login and health, and the contracts that its bindings name. */
export interface DriverReport {
  readonly id: string;
  readonly version: string;
  readonly server: ServerStatus;
  /** Why the server is not verified. */
  readonly reason?: string;
  /** The revision of MCP that was negotiated with the server, once it was verified. */
  readonly protocolVersion?: string;
  readonly auth: AuthState;
  readonly health: HealthStatus;
  /** Why its last health check failed. */
  readonly healthReason?: string;
  readonly contracts: readonly string[];
  readonly problems: readonly Diagnostic[];
}

export function reportOf(
  { driver, hooks, named, verification, health }: RegisteredDriver,
  auth: AuthMachine,
  context: CallContext,
): DriverReport {
  const state = verification.stateFor(context);
  const reason = state.kind === "unverified" && verification.isStarting ? STILL_STARTING : reasonOf(state);
  const { revision } = verification;
  return {
    id: driver.id,
    version: driver.version,
    server: serverStatusOf(state),
    reason,
    protocolVersion: revision,
    auth: auth.stateOf(driver, hooks, context),
    health: health.status,
    healthReason: health.reason,
    contracts: named,
    problems: verification.diagnostics,
  };
}

function serverStatusOf(state: SettledState): ServerStatus {
  if (state.kind === "verified" || state.kind === "refused") return state.kind;
  // Without its secret the server was not even started.
  return state.kind === "unavailable" && state.fault.code !== "auth_required" ? "unreachable" : "unverified";
}

function reasonOf(state: SettledState): string | undefined {
  if (state.kind === "refused") return state.reason;
  return state.kind === "unavailable" || state.kind === "retryDue" ? state.fault.reason : undefined;
}

/** The best running process decides; without one, the failure that says most. `index` is the process that decided. */
export function overallState(states: readonly SettledState[]): {
  readonly state: SettledState;
  readonly index: number;
} {
  const ranks = states.map(rankOf);
  const index = ranks.indexOf(Math.min(...ranks));
  return { state: states[index] ?? UNVERIFIED, index };
}

function rankOf(state: SettledState): number {
  switch (state.kind) {
    case "verified":
      return state.isCurrent ? 0 : 5;
    case "refused":
      return state.isPaused ? 2 : 1;
    case "unavailable":
      return state.fault.code === "auth_required" ? 4 : 3;
    case "retryDue":
      return 4;
    case "unverified":
      return 6;
  }
}
