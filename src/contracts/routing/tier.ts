// Tier of a driver for routing, read from its states only: usable, to be verified first, last resort, or none.

import type { DriverErrorCode } from "../../model/index.ts";
import type { AuthState } from "../auth/auth-store.ts";
import type { HealthStatus } from "../driver/health-check.ts";
import type { SettledState } from "../verification/verification.ts";

/** The states of a driver for one caller. */
export interface DriverStatus {
  readonly server: SettledState;
  readonly auth: AuthState;
  readonly health: HealthStatus;
  /** Why its last health check failed. */
  readonly healthReason?: string;
  /** Time of the last successful health check, in milliseconds since 1970. */
  readonly healthyAt?: number;
  /** The first health check has ended, or the driver declares none. */
  readonly isHealthChecked: boolean;
}

/**
 * `usable`: calls may go to it. `verifyFirst`: where another driver could serve too, it is verified before a call goes to it.
 * `lastResort`: it failed before, and gets only calls that no other driver can serve.
 */
export type Tier = "usable" | "verifyFirst" | "lastResort" | "none";

/** Why a driver gets no calls. */
export interface Obstacle {
  readonly reason: string;
  readonly code: DriverErrorCode;
  /** The driver failed before, and should be verified again in the background. */
  readonly retryDue?: true;
}

export function tierOf({ server, isHealthChecked }: DriverStatus): Tier {
  switch (server.kind) {
    case "verified":
      return isHealthChecked ? "usable" : "verifyFirst";
    case "unverified":
      return "verifyFirst";
    case "retryDue":
      return "lastResort";
    case "refused":
    case "unavailable":
      return "none";
  }
}

/** With `lastResort`, a driver that failed before may be tried. With `loginOnly`, no login is needed. */
export function obstacleOf(
  status: DriverStatus,
  { loginOnly, lastResort }: { readonly loginOnly: boolean; readonly lastResort: boolean },
): Obstacle | undefined {
  const { server, auth, health, healthReason } = status;
  if (server.kind === "refused") {
    const { reason, hasNoCode } = server;
    const why = hasNoCode === true ? reason : `it does not match its contracts: ${reason}`;
    return { reason: why, code: "tool_unavailable" };
  }
  if (server.kind === "unavailable") return { reason: server.fault.reason, code: server.fault.code };
  if (server.kind === "retryDue" && !lastResort) {
    const { reason, code } = server.fault;
    return {
      reason: `it failed, and Portolan has not verified it again yet: ${reason}`,
      code,
      retryDue: true,
    };
  }
  if (!loginOnly && (auth === "unauthed" || auth === "expired"))
    return {
      reason: auth === "expired" ? "its login has expired" : "the user is not logged in",
      code: "auth_required",
    };
  if (health === "failed") {
    const why = healthReason === undefined ? "" : `: ${healthReason}`;
    return { reason: `its health check failed${why}`, code: "tool_unavailable" };
  }
  if (health === "stale") return { reason: "its last health check is too old", code: "tool_unavailable" };
  return undefined;
}
