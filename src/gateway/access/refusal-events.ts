// Events about refused requests: wrong tokens, hosts and origins, exceeded limits, and calls that the rules of a caller refuse. A
// flood costs one event per second.

import type { CallRefusedEvent, EventBus } from "../../hub/index.ts";
import type { HttpRequest } from "../http/responses.ts";
import type { Refusal } from "./types.ts";

/** Events in a row, and how often another one is allowed. */
const BURST = 20;
const REFILL_MS = 1_000;
const MAX_PATH = 200;

/** `caller` is known if the request was authenticated. */
export type NoteRefusal = (request: HttpRequest, refusal: Refusal, caller?: string) => void;

/** Other refusals than those of authentication, of Host and Origin, and of limits are not reported. */
export function createRefusalEvents(
  events: EventBus,
  now: () => number = () => performance.now(),
): NoteRefusal {
  const ofAccess = createBudget(now);
  // A caller that exceeds its limits must not hide wrong tokens.
  const ofLimits = createBudget(now);
  return (request, { status, error }, caller) => {
    const budget = status === 429 ? ofLimits : status === 401 || status === 403 ? ofAccess : undefined;
    const more = budget?.take();
    if (more === undefined) return;
    // The name of a login page is known to its caller alone.
    const path = (request.url ?? "")
      .replace(/[?#][^]*$/, "")
      .replace(/\/login\/[\w-]+$/, "/login/…")
      .slice(0, MAX_PATH);
    events.emit({
      type: "gateway.refused",
      server: "gateway",
      code: error.code,
      reason: error.message,
      caller,
      address: request.socket?.remoteAddress,
      path,
      more: more === 0 ? undefined : more,
    });
  };
}

export type NoteCallRefusal = (
  refusal: Pick<CallRefusedEvent, "server" | "tool" | "caller" | "rule">,
) => void;

export function createCallRefusalEvents(
  events: EventBus,
  now: () => number = () => performance.now(),
): NoteCallRefusal {
  const budget = createBudget(now);
  return (refusal) => {
    const more = budget.take();
    if (more === undefined) return;
    events.emit({ type: "gateway.call_refused", ...refusal, more: more === 0 ? undefined : more });
  };
}

interface Budget {
  /** How many events were left out since the last one; undefined if this one must be left out too. */
  take(): number | undefined;
}

function createBudget(now: () => number): Budget {
  let level = BURST;
  let filledAt = now();
  let left = 0;
  return {
    take() {
      const at = now();
      level = Math.min(BURST, level + (at - filledAt) / REFILL_MS);
      filledAt = at;
      if (level < 1) {
        left += 1;
        return undefined;
      }
      level -= 1;
      const more = left;
      left = 0;
      return more;
    },
  };
}
