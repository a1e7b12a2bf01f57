// Who is meant by a token of the issuer: the first caller whose rule fits, or the token's subject itself.

import {
  GATEWAY_DEFAULTS,
  type GatewayCaller,
  type GatewaySettings,
  type GatewayTokenRule,
} from "../../model/index.ts";
import { createGate } from "./caller-limits.ts";
import { type Claims, scopesOf } from "./jwt.ts";
import { createRecent } from "./lru-map.ts";
import type { Principal } from "./types.ts";
import { createView } from "./tool-filter.ts";

const MAX_SUBJECTS = 10_000;
const MIN_HELD_BYTES = 32 * 1024 * 1024;

/** One principal of a caller's view and limits; the gateway's limits hold where it says none. */
export function createPrincipal(
  name: string,
  caller: Pick<GatewayCaller, "allow" | "deny" | "limits">,
  settings: GatewaySettings,
  now: () => number,
): Principal {
  const { rate, concurrency, bodyBytes = GATEWAY_DEFAULTS.bodyBytes } = settings.limits ?? {};
  const limits = { rate, concurrency, ...caller.limits, bytes: Math.max(MIN_HELD_BYTES, 8 * bodyBytes) };
  return { name, view: createView(caller), gate: createGate(limits, now) };
}

/** `callers` are those that have a token of their own as well, by name. Nothing when no caller is meant. */
export function createSubjects(
  settings: GatewaySettings,
  callers: ReadonlyMap<string, Principal>,
  now: () => number,
): (claims: Claims) => Principal | undefined {
  const ruled = (settings.callers ?? []).flatMap((caller) =>
    caller.oauth === undefined ? [] : [{ caller, rule: caller.oauth }],
  );
  const subjects = createRecent<Principal>(MAX_SUBJECTS);

  const principalOf = (name: string, caller: Pick<GatewayCaller, "allow" | "deny" | "limits">): Principal => {
    const known = subjects.get(name);
    if (known !== undefined) return known;
    const principal = createPrincipal(name, caller, settings, now);
    subjects.set(name, principal);
    return principal;
  };

  return (claims) => {
    const own = `oauth:${claims.iss}|${claims.sub}`;
    if (ruled.length === 0) return principalOf(own, {});
    const found = ruled.find(({ rule }) => fits(rule, claims));
    if (found === undefined) return undefined;
    const { caller, rule } = found;
    // A rule that names no subject means many people, who must not come by each other's sessions.
    if (rule.subject === undefined) return principalOf(`${caller.name}|${own}`, caller);
    return callers.get(caller.name) ?? principalOf(caller.name, caller);
  };
}

function fits({ subject, scope, claim }: GatewayTokenRule, claims: Claims): boolean {
  if (subject !== undefined && subject !== claims.sub) return false;
  if (scope !== undefined) {
    const held = scopesOf(claims);
    if (!scope.split(/\s+/).every((word) => word === "" || held.has(word))) return false;
  }
  return Object.entries(claim ?? {}).every(([name, wanted]) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    return Array.isArray(value) ? value.some((one) => says(one, wanted)) : says(value, wanted);
  });
}

function says(value: unknown, wanted: string): boolean {
  if (typeof value === "number" || typeof value === "boolean") return String(value) === wanted;
  return value === wanted;
}
