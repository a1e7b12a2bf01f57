// Context of a contract call: the user on whose behalf it is made, and the wishes that exclude drivers.

import type { JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";

/** User id of the person who runs this program. */
export const LOCAL_USER = "local";

/** On whose behalf a contract is called. A field that is absent is unknown, and grants nothing. */
export interface CallContext {
  readonly userId?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly workflow?: string | undefined;
  /** A person is there who can log in. */
  readonly interactive?: boolean | undefined;
  /** Only this driver. */
  readonly pinnedProvider?: string | undefined;
  readonly regionConstraint?: string | undefined;
  /** Values for the contract's contextSchema. */
  readonly values?: JsonObject | undefined;
}

/** Key of a result's or definition's `_meta` with the id of the driver. */
export const DRIVER_META = "portolan/driver";
/** Key of `_meta` with other drivers that have a prompt of the same name. */
export const OTHERS_META = "portolan/otherDrivers";

/** Keys of `_meta` that a client may send with a contract call; the first two can only exclude drivers. */
export const CONTEXT_META: { readonly pin: string; readonly region: string; readonly values: string } = {
  pin: "portolan/pinnedProvider",
  region: "portolan/regionConstraint",
  /** Values for the contract's contextSchema. */
  values: "portolan/context",
};

/** Reads the context from a request. The returned object is never changed afterwards. */
export type ContextOf = (call: Call) => CallContext;

const EMPTY: CallContext = {};

/** The default when the host does not tell callers apart by itself. */
export function contextOfCall({ caller, params }: Call): CallContext {
  const meta = params?._meta as JsonObject | undefined;
  const text = (name: string): string | undefined =>
    typeof meta?.[name] === "string" ? meta[name] : undefined;
  const userId = caller?.account;
  const pinnedProvider = text(CONTEXT_META.pin);
  const regionConstraint = text(CONTEXT_META.region);
  return userId === undefined && pinnedProvider === undefined && regionConstraint === undefined
    ? EMPTY
    : { userId, pinnedProvider, regionConstraint };
}
