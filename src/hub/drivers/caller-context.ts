// Context of contract calls: the caller's identity as the gateway verified it, and the options in `_meta`.

import { CONTEXT_META, type CallContext, type ContextOf, LOCAL_USER } from "../../contracts/index.ts";
import { type Contract, isObject, type JsonObject } from "../../model/index.ts";
import type { Call, Caller } from "../../upstream/index.ts";

/** Account names of the gateway for the local user; no caller of a workspace may have them. */
const OWN_ACCOUNTS: ReadonlySet<string> = new Set(["local", "stdio"]);
const ROLE = /^role:(.+)$/;
const CAPABILITY = /^cap:\/\/./;

/** Number of accounts whose context is cached. */
const MAX_CACHED = 10_000;
const NOBODY: CallContext = {};

/** `contracts` may grow, because a program can add contracts. */
export function contextFor(contracts: readonly Contract[]): ContextOf {
  const hasContext = (name: unknown): boolean =>
    contracts.some(({ id, contextSchema }) => id === name && contextSchema !== undefined);
  const identities = new Identities();
  return ({ method, params, caller }: Call): CallContext => {
    const who = caller === undefined ? NOBODY : identities.of(caller);
    const meta = params?._meta;
    if (!isObject(meta)) return who;
    const requested: CallContext = {
      ...text(meta, CONTEXT_META.pin, "pinnedProvider"),
      ...text(meta, CONTEXT_META.region, "regionConstraint"),
      // The values are validated against the contract's schema later; a contract without one ignores them.
      ...(method === "tools/call" && isObject(meta[CONTEXT_META.values]) && hasContext(params?.name)
        ? { values: meta[CONTEXT_META.values] as JsonObject }
        : {}),
    };
    return Object.keys(requested).length === 0 ? who : { ...requested, ...who };
  };
}

/** Identities by account. The same account gets the same object, so that values derived from it can be cached. */
class Identities {
  readonly #byAccount = new Map<string, CallContext>();

  /** A scope `role:x` is the role x, and a scope `cap://…` is that capability. Other scopes are for the gateway. */
  of({ account, scopes }: Caller): CallContext {
    const roles = scopes?.flatMap((scope) => ROLE.exec(scope)?.[1] ?? []) ?? [];
    const capabilities = scopes?.filter((scope) => CAPABILITY.test(scope)) ?? [];
    if (roles.length === 0 && capabilities.length === 0) return this.#ofAccount(account);
    return { ...this.#ofAccount(account), roles, capabilities };
  }

  #ofAccount(account: string | undefined): CallContext {
    if (account === undefined) return NOBODY;
    let context = this.#byAccount.get(account);
    if (context === undefined) {
      if (this.#byAccount.size >= MAX_CACHED) this.#byAccount.clear();
      context = { userId: OWN_ACCOUNTS.has(account) ? LOCAL_USER : account };
      this.#byAccount.set(account, context);
    }
    return context;
  }
}

function text(meta: JsonObject, name: string, field: "pinnedProvider" | "regionConstraint"): CallContext {
  const value = meta[name];
  return typeof value === "string" ? { [field]: value } : {};
}
