// Policy of a workspace: which drivers may serve, by their tags and regions.

import type { ContractPolicy, DriverErrorCode } from "../../model/index.ts";
import type { CallContext } from "../contract/call-context.ts";

export type { ContractPolicy };

interface Tagged {
  readonly policyTags: readonly string[];
  readonly region: readonly string[];
}

interface Denial {
  readonly reason: string;
  readonly code: DriverErrorCode;
}

export function tagDenial({ policyTags }: Tagged, policy: ContractPolicy): Denial | undefined {
  const denied = policyTags.find((tag) => policy.denyTags?.includes(tag) === true);
  if (denied !== undefined)
    return { reason: `the policy denies drivers tagged ${denied}`, code: "policy_violation" };
  const { allowTags } = policy;
  if (allowTags === undefined || policyTags.some((tag) => allowTags.includes(tag))) return undefined;
  const tags =
    policyTags.length === 0 ? "the driver has no tags" : `the driver is tagged ${policyTags.join(", ")}`;
  return {
    reason: `the policy requires the tag ${allowTags.join(" or ")}, and ${tags}`,
    code: "policy_violation",
  };
}

export function regionDenial(
  { region }: Tagged,
  requested: string | undefined,
  policy: ContractPolicy,
): Denial | undefined {
  for (const wanted of [policy.region, requested]) {
    if (wanted === undefined || region.includes(wanted)) continue;
    if (policy.strictRegion !== true && region.includes("global")) continue;
    return {
      reason: `the driver is in the region ${region.join(", ") || "(none)"}, not in ${wanted}`,
      code: "region_mismatch",
    };
  }
  return undefined;
}

/** For requests that are not routed, such as a prompt: the same rules as for a call, in the same order. */
export function policyDenial(
  driver: Tagged & { readonly id: string },
  policy: ContractPolicy,
  { regionConstraint, pinnedProvider: pin }: CallContext,
): Denial | undefined {
  const denial = tagDenial(driver, policy) ?? regionDenial(driver, regionConstraint, policy);
  if (denial !== undefined || pin === undefined || pin === driver.id) return denial;
  return { reason: `the call is pinned to ${pin}`, code: "pinned_provider_unavailable" };
}
