// Lifecycle policy of a member's main instance: when it is retried, when it is idle, and how long it may drain.

import type { ServerConfig } from "../../model/index.ts";
import type { Policy } from "../../upstream/index.ts";

/** The longest that an old generation may take to finish its calls. */
const DRAIN_MS = 5 * 60_000;
/** The connection of a caller of the gateway ends after this time without a call. */
const USER_IDLE_MS = 30 * 60_000;

/** `isOfUser`: the member belongs to one caller. `isPerCaller`: each caller has one beside it. */
export function memberPolicy(
  { start, idleStopMs, endpoint }: ServerConfig,
  { isOfUser, isPerCaller }: { readonly isOfUser: boolean; readonly isPerCaller: boolean },
): Policy {
  const isNeverIdle = idleStopMs === undefined || idleStopMs <= 0 || endpoint.transport === "contracts";
  return {
    restarts: true,
    keepsTrying: start !== "lazy" && !isOfUser && !isPerCaller,
    startRetries: 0,
    idleMs: isNeverIdle ? (isOfUser ? USER_IDLE_MS : undefined) : idleStopMs,
    drainMs: DRAIN_MS,
  };
}
