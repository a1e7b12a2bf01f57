// Error for a call without a route: one code, and the drivers that came nearest with their obstacles.

import type { DriverErrorCode } from "../../model/index.ts";
import type { Phase, Rejection, RouteFailure, RouteRequest } from "./route.ts";

const MAX_NEAREST = 10;

/** The last phase rejected all drivers that were left. */
export function failureOf(request: RouteRequest, phases: readonly Phase[]): RouteFailure {
  const { contract, pin } = request;
  const nearest = phases
    .toReversed()
    .flatMap(({ phase, rejected }) => rejected.map((rejection) => ({ ...rejection, phase })));
  const last = phases.at(-1)?.rejected ?? [];
  const pinned = pin === undefined ? undefined : nearest.find(({ driver }) => driver === pin);
  const code = codeOf(last);
  const fields = [...new Set(last.flatMap((rejection) => rejection.fields ?? []))];
  return {
    code,
    message: messageOf(contract.id, code, last, pin, pinned),
    ...(code === "input_unsupported" ? { fields } : {}),
    nearest: nearest.slice(0, MAX_NEAREST),
  };
}

/** The common code; otherwise a code that the caller can act on. */
function codeOf(rejected: readonly Rejection[]): DriverErrorCode {
  const codes = new Set(rejected.map(({ code }) => code));
  const [only] = codes;
  if (only !== undefined && codes.size === 1) return only;
  if (codes.has("auth_required")) return "auth_required";
  // That driver could serve the call with other inputs.
  return codes.has("input_unsupported") ? "input_unsupported" : "no_route";
}

function messageOf(
  contract: string,
  code: DriverErrorCode,
  last: readonly Rejection[],
  pin: string | undefined,
  pinned: Rejection | undefined,
): string {
  if (code === "pinned_provider_unavailable")
    return `${contract} is pinned to ${pin ?? ""}, which cannot serve it: ${pinned?.reason ?? "no such driver serves this contract"}`;
  if (last.length === 0) return `No driver serves ${contract}.`;
  const shown = last.slice(0, 5).map(({ driver, reason }) => `${driver}: ${reason}`);
  const more = last.length > shown.length ? `; and ${last.length - shown.length} more` : "";
  return `No driver can serve this call of ${contract}. ${shown.join("; ")}${more}`;
}
