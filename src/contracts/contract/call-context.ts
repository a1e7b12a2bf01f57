// Who calls a contract, as far as a request tells by itself.

import type { JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { CallContext } from "../driver/bound-tool.ts";

/** Keys of `_meta` that a client may send with a call of a contract; the first two can only exclude drivers. */
export const CONTEXT_META: { readonly pin: string; readonly region: string; readonly values: string } = {
  pin: "portolan/pinnedProvider",
  region: "portolan/regionConstraint",
  /** Values for the contract's contextSchema. */
  values: "portolan/context",
};

/** Who calls, as far as a request tells. What it gives is never changed afterwards. */
export type ContextOf = (call: Call) => CallContext;

const ANYBODY: CallContext = {};

/** For whoever does not say how callers are told apart. */
export function contextOfCall({ caller, params }: Call): CallContext {
  const meta = params?._meta as JsonObject | undefined;
  const text = (name: string): string | undefined =>
    typeof meta?.[name] === "string" ? meta[name] : undefined;
  const userId = caller?.account;
  const pinnedProvider = text(CONTEXT_META.pin);
  const regionConstraint = text(CONTEXT_META.region);
  return userId === undefined && pinnedProvider === undefined && regionConstraint === undefined
    ? ANYBODY
    : { userId, pinnedProvider, regionConstraint };
}
