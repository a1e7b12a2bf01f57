// Who calls a contract, as far as the hub can tell: by what the gateway found out about the caller, never by what the caller says of itself.

import { CONTEXT_META, type CallContext, type ContextOf, LOCAL_USER } from "../../contracts/index.ts";
import { type Contract, isObject, type JsonObject } from "../../model/index.ts";
import type { Call, Caller } from "../../upstream/index.ts";

/** What the gateway calls those who come in as the user that runs it; no caller of a workspace may be called so. */
const OWN_ACCOUNTS: ReadonlySet<string> = new Set(["local", "stdio"]);
const ROLE = /^role:(.+)$/;
const CAPABILITY = /^cap:\/\/./;

/** The same object for the same account, so that what is worked out about it is worked out once. */
const known = new Map<string, CallContext>();
const MOST_KNOWN = 10_000;
const NOBODY: CallContext = {};

/** `contracts` may grow: a program can add one. */
export function contextFor(contracts: readonly Contract[]): ContextOf {
  const hasContext = (name: unknown): boolean =>
    contracts.some(({ id, contextSchema }) => id === name && contextSchema !== undefined);
  return ({ method, params, caller }: Call): CallContext => {
    const who = caller === undefined ? NOBODY : identityOf(caller);
    const meta = params?._meta;
    if (!isObject(meta)) return who;
    const asked: CallContext = {
      ...text(meta, CONTEXT_META.pin, "pinnedProvider"),
      ...text(meta, CONTEXT_META.region, "regionConstraint"),
      // They are held to the schema before anybody sees them; a contract without one has no use for them.
      ...(method === "tools/call" && isObject(meta[CONTEXT_META.values]) && hasContext(params?.name)
        ? { values: meta[CONTEXT_META.values] as JsonObject }
        : {}),
    };
    return Object.keys(asked).length === 0 ? who : { ...asked, ...who };
  };
}

/** A scope `role:x` is the role x, a scope `cap://…` is that capability; other scopes are the gateway's own business. */
function identityOf({ account, scopes }: Caller): CallContext {
  const roles = scopes?.flatMap((scope) => ROLE.exec(scope)?.[1] ?? []) ?? [];
  const capabilities = scopes?.filter((scope) => CAPABILITY.test(scope)) ?? [];
  if (roles.length === 0 && capabilities.length === 0) return accountOf(account);
  return { ...accountOf(account), roles, capabilities };
}

function accountOf(account: string | undefined): CallContext {
  if (account === undefined) return NOBODY;
  let context = known.get(account);
  if (context === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    context = { userId: OWN_ACCOUNTS.has(account) ? LOCAL_USER : account };
    known.set(account, context);
  }
  return context;
}

function text(meta: JsonObject, name: string, field: "pinnedProvider" | "regionConstraint"): CallContext {
  const value = meta[name];
  return typeof value === "string" ? { [field]: value } : {};
}
