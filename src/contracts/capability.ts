// Whether a driver can work at all just now: registered, installed, of the right version, logged in, healthy.

import type { DriverErrorCode } from "../model/index.ts";

export type AuthState = "unknown" | "unauthed" | "logging-in" | "authed" | "expired";

export interface DriverStatus {
  /** `unchecked`: nobody could look yet. `unreachable`: it did not start or answer. `refused`: it does not fit its contracts. */
  readonly server: "fits" | "unchecked" | "unreachable" | "refused";
  /** Why the server is as it is. */
  readonly reason?: string | undefined;
  /** The code of that reason, where it has one of its own. */
  readonly code?: DriverErrorCode | undefined;
  readonly auth: AuthState;
  /** `unknown`: nothing checks it. */
  readonly health: "healthy" | "failed" | "stale" | "unknown";
  /** When it was last seen healthy, in milliseconds since 1970. */
  readonly healthyAt?: number | undefined;
}

export function capabilityOf(
  status: DriverStatus,
  loginOnly: boolean,
): { readonly reason: string; readonly code: DriverErrorCode } | undefined {
  const { server, reason, code } = status;
  if (server === "refused")
    return {
      reason: `it does not fit: ${reason ?? "its registration was refused"}`,
      code: code ?? "tool_unavailable",
    };
  if (server === "unreachable")
    return { reason: reason ?? "it cannot be reached", code: code ?? "tool_unavailable" };
  if (!loginOnly && (status.auth === "unauthed" || status.auth === "expired"))
    return {
      reason: status.auth === "expired" ? "its login has expired" : "nobody is logged in",
      code: "auth_required",
    };
  if (status.health === "failed") return { reason: "its health check failed", code: "tool_unavailable" };
  if (status.health === "stale")
    return { reason: "its health was not checked for too long", code: "tool_unavailable" };
  return undefined;
}
