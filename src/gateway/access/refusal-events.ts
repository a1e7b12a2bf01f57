// Events about refused requests: wrong tokens, hosts and origins. A flood of them costs one event per second.

import type { EventBus } from "../../hub/index.ts";
import type { HttpRequest } from "../http/responses.ts";
import type { Refusal } from "./types.ts";

/** Events in a row, and how often another one is allowed. */
const BURST = 20;
const REFILL_MS = 1_000;
const MAX_PATH = 200;

export type NoteRefusal = (request: HttpRequest, refusal: Refusal) => void;

/** Other refusals than those of authentication and of Host and Origin are not reported. */
export function createRefusalEvents(
  events: EventBus,
  now: () => number = () => performance.now(),
): NoteRefusal {
  let level = BURST;
  let filledAt = now();
  let left = 0;
  return (request, { status, error }) => {
    if (status !== 401 && status !== 403) return;
    const at = now();
    level = Math.min(BURST, level + (at - filledAt) / REFILL_MS);
    filledAt = at;
    if (level < 1) {
      left += 1;
      return;
    }
    level -= 1;
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
      address: request.socket?.remoteAddress,
      path,
      more: left === 0 ? undefined : left,
    });
    left = 0;
  };
}
