// Callers: built from the settings, and found by the claims of an OAuth token.

import { hash } from "node:crypto";
import {
  GATEWAY_DEFAULTS,
  type GatewayCaller,
  type GatewaySettings,
  type GatewayTokenRule,
} from "../../model/index.ts";
import { createCallerLimits } from "./caller-limits.ts";
import { type Claims, scopesOf } from "./jwt.ts";
import { createLruMap } from "./lru-map.ts";
import { createToolFilter } from "./tool-filter.ts";
import type { AuthenticatedCaller } from "./types.ts";

/** `name` is that of the setting, if there is one: the callers that a rule about claims matches have longer names. */
type CallerRules = Partial<Pick<GatewayCaller, "name" | "allow" | "deny" | "limits">>;

const MAX_SUBJECTS = 10_000;
const MIN_RESERVED_BYTES = 32 * 1024 * 1024;

/** The limits of the gateway apply where the caller has none of its own. `credentials` are a part of the fingerprint. */
export function createCaller(
  name: string,
  rules: CallerRules,
  settings: GatewaySettings,
  now: () => number,
  credentials?: unknown,
): AuthenticatedCaller {
  const { rate, concurrency, bodyBytes = GATEWAY_DEFAULTS.bodyBytes } = settings.limits ?? {};
  const limits = { rate, concurrency, ...rules.limits, bytes: Math.max(MIN_RESERVED_BYTES, 8 * bodyBytes) };
  const { allow, deny } = rules;
  return {
    name,
    toolFilter: createToolFilter(rules),
    limits: createCallerLimits({ ...limits, settings: limitSettings(rules) }, now),
    fingerprint: hash("sha256", JSON.stringify([name, credentials, allow, deny, limits])),
  };
}

/** The settings that limit a caller, as a person finds them in portolan.yaml. */
function limitSettings({ name, limits }: CallerRules): { rate: string; concurrency: string } {
  const at = (key: "rate" | "concurrency"): string =>
    `gateway.${limits?.[key] === undefined ? "" : `callers[${name}].`}limits.${key}`;
  return { rate: at("rate"), concurrency: at("concurrency") };
}

/** The fingerprint of callers that are found by claims: they change with all rules about claims. */
export function claimsFingerprint({ oauth, callers = [], limits }: GatewaySettings): string {
  const rules = callers.filter((caller) => caller.oauth !== undefined);
  return hash("sha256", JSON.stringify([oauth, rules, limits?.rate, limits?.concurrency, limits?.bodyBytes]));
}

/**
 * Finds the caller of verified claims: the first one whose rule matches, or the subject itself if no caller has a rule. Undefined
 * when no rule matches. `callers` are the callers with a token of their own, by name.
 */
export function createCallerLookup(
  settings: GatewaySettings,
  callers: ReadonlyMap<string, AuthenticatedCaller>,
  now: () => number,
): (claims: Claims) => AuthenticatedCaller | undefined {
  const configured = (settings.callers ?? []).flatMap((config) =>
    config.oauth === undefined ? [] : [{ config, rule: config.oauth }],
  );
  const fingerprint = claimsFingerprint(settings);
  const subjects = createLruMap<AuthenticatedCaller>(MAX_SUBJECTS);

  const callerNamed = (name: string, rules: CallerRules): AuthenticatedCaller => {
    const known = subjects.get(name);
    if (known !== undefined) return known;
    const caller = { ...createCaller(name, rules, settings, now), fingerprint };
    subjects.set(name, caller);
    return caller;
  };

  return (claims) => {
    const subject = `oauth:${claims.iss}|${claims.sub}`;
    if (configured.length === 0) return callerNamed(subject, {});
    const found = configured.find(({ rule }) => matches(rule, claims));
    if (found === undefined) return undefined;
    const { config, rule } = found;
    // A rule without a subject matches many people, who must not share sessions.
    if (rule.subject === undefined) return callerNamed(`${config.name}|${subject}`, config);
    return callers.get(config.name) ?? callerNamed(config.name, config);
  };
}

function matches({ subject, scope, claim }: GatewayTokenRule, claims: Claims): boolean {
  if (subject !== undefined && subject !== claims.sub) return false;
  if (scope !== undefined) {
    const granted = scopesOf(claims);
    if (!scope.split(/\s+/).every((word) => word === "" || granted.has(word))) return false;
  }
  return Object.entries(claim ?? {}).every(([name, wanted]) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    return Array.isArray(value) ? value.some((item) => equals(item, wanted)) : equals(value, wanted);
  });
}

function equals(value: unknown, wanted: string): boolean {
  if (typeof value === "number" || typeof value === "boolean") return String(value) === wanted;
  return value === wanted;
}
