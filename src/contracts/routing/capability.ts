// Whether a driver can work at all just now: registered, installed, of the right version, logged in, healthy.

import type { DriverErrorCode } from "../../model/index.ts";

export type AuthState = "unknown" | "unauthed" | "logging-in" | "authed" | "expired";

export interface DriverStatus {
  /** `unchecked`: nobody could look yet. `unreachable`: it did not start or answer. `refused`: it does not fit its contracts. */
  readonly server: "fits" | "unchecked" | "unreachable" | "refused";
  /** Why the server is as it is. */
  readonly reason?: string | undefined;
  /** The code of that reason, where it has one of its own. */
  readonly code?: DriverErrorCode | undefined;
  /** It failed, was left alone for a while, and nobody has seen it work since: only for calls that nobody else can serve. */
  readonly again?: boolean | undefined;
  /** It was not looked at yet, or not asked whether it is well: where another one is there, that comes first. */
  readonly unsure?: boolean | undefined;
  readonly auth: AuthState;
  /** `unknown`: nothing checks it. */
  readonly health: "healthy" | "failed" | "stale" | "unknown";
  /** Why its last health check failed. */
  readonly healthReason?: string | undefined;
  /** When it was last seen healthy, in milliseconds since 1970. */
  readonly healthyAt?: number | undefined;
}

export interface Incapable {
  readonly reason: string;
  readonly code: DriverErrorCode;
  /** It is looked at in the background now. */
  readonly again?: true | undefined;
}

/** With `lastResort`, one that failed before may be tried: there is no other. */
export function capabilityOf(
  status: DriverStatus,
  loginOnly: boolean,
  lastResort: boolean,
): Incapable | undefined {
  const { server, reason, code } = status;
  if (server === "refused")
    return {
      reason: `it does not fit: ${reason ?? "its registration was refused"}`,
      code: code ?? "tool_unavailable",
    };
  if (server === "unreachable")
    return { reason: reason ?? "it cannot be reached", code: code ?? "tool_unavailable" };
  if (status.again === true) {
    if (!lastResort)
      return {
        reason: `it failed, and was not seen to work since: ${reason ?? "it could not be reached"}`,
        code: code ?? "tool_unavailable",
        again: true,
      };
  } else if (server === "unchecked" && code !== undefined) return { reason: reason ?? code, code };
  if (!loginOnly && (status.auth === "unauthed" || status.auth === "expired"))
    return {
      reason: status.auth === "expired" ? "its login has expired" : "nobody is logged in",
      code: "auth_required",
    };
  if (status.health === "failed") {
    const why = status.healthReason === undefined ? "" : `: ${status.healthReason}`;
    return { reason: `its health check failed${why}`, code: "tool_unavailable" };
  }
  if (status.health === "stale")
    return { reason: "its health was not checked for too long", code: "tool_unavailable" };
  return undefined;
}
