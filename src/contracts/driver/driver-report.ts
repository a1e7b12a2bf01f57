// What is known of a driver, for those who look after it.

import type { Diagnostic } from "../../errors/index.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { AuthState } from "../routing/capability.ts";
import { type Registered, statusFor } from "./registered-driver.ts";
import type { CallContext } from "./bound-tool.ts";

export interface DriverReport {
  readonly id: string;
  readonly version: string;
  readonly server: Registered["server"];
  readonly reason?: string | undefined;
  /** The revision of MCP that was agreed with its server, once that was looked at. */
  readonly protocolVersion?: string | undefined;
  readonly auth: AuthState;
  readonly health: Registered["health"];
  /** Why its last health check failed. */
  readonly healthReason?: string | undefined;
  readonly contracts: readonly string[];
  readonly problems: readonly Diagnostic[];
}

export function reportOf(registered: Registered, auth: AuthMachine, context: CallContext): DriverReport {
  const { driver, hooks, bound, health, healthReason, problems, revision } = registered;
  const { server, reason } = statusFor(registered, context);
  return {
    id: driver.id,
    version: driver.version,
    server,
    ...(reason === undefined ? {} : { reason }),
    ...(revision === undefined ? {} : { protocolVersion: revision }),
    auth: auth.stateOf(driver, hooks, context),
    health,
    ...(healthReason === undefined ? {} : { healthReason }),
    contracts: [...bound.keys()],
    problems,
  };
}
