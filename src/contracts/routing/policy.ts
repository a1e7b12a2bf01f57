// What a workspace allows, whatever drivers say about themselves: by their tags, by their region, and by whom a call must be approved.

import type { Contract, ContractPolicy, DriverErrorCode } from "../../model/index.ts";
import type { CallContext } from "../driver/bound-tool.ts";

export type { ContractPolicy };

interface Tagged {
  readonly policyTags: readonly string[];
  readonly region: readonly string[];
}

interface Verdict {
  readonly reason: string;
  readonly code: DriverErrorCode;
}

export function policyOf({ policyTags }: Tagged, policy: ContractPolicy): Verdict | undefined {
  const denied = policyTags.find((tag) => policy.denyTags?.includes(tag) === true);
  if (denied !== undefined)
    return { reason: `the policy denies drivers tagged ${denied}`, code: "policy_violation" };
  const { allowTags } = policy;
  if (allowTags === undefined || policyTags.some((tag) => allowTags.includes(tag))) return undefined;
  const tags = policyTags.length === 0 ? "it has no tags" : `it is tagged ${policyTags.join(", ")}`;
  return { reason: `the policy wants ${allowTags.join(" or ")}, and ${tags}`, code: "policy_violation" };
}

export function regionOf(
  { region }: Tagged,
  asked: string | undefined,
  policy: ContractPolicy,
): Verdict | undefined {
  for (const wanted of [policy.region, asked]) {
    if (wanted === undefined || region.includes(wanted)) continue;
    if (policy.strictRegion !== true && region.includes("global")) continue;
    return {
      reason: `it is in ${region.join(", ") || "no region"}, not in ${wanted}`,
      code: "region_mismatch",
    };
  }
  return undefined;
}

/** For what is not routed, such as a prompt: the same rules as for a call, and in the same order. */
export function turnedAway(
  driver: Tagged & { readonly id: string },
  policy: ContractPolicy,
  { regionConstraint, pinnedProvider: pin }: CallContext,
): Verdict | undefined {
  const verdict = policyOf(driver, policy) ?? regionOf(driver, regionConstraint, policy);
  if (verdict !== undefined || pin === undefined || pin === driver.id) return verdict;
  return { reason: `the call is pinned to ${pin}`, code: "pinned_provider_unavailable" };
}

/** Why a call must be approved; undefined when it need not be. A driver has no say in it. */
export function approvalReason(
  { approval, mutates, riskLevel, id }: Contract,
  policy: ContractPolicy,
): string | undefined {
  if (approval === "always") return `${id} asks for approval of every call`;
  if (policy.approval === "always") return "the policy asks for approval of every call";
  if (approval.startsWith("policy:")) return `${id} asks for approval by ${approval}`;
  if (mutates.length > 0 && (approval === "on-mutate" || policy.approval === "on-mutate"))
    return `${id} changes ${mutates.join(", ")}`;
  if (policy.approveFromRisk !== undefined && riskLevel >= policy.approveFromRisk)
    return `${id} has the risk level ${riskLevel}`;
  return undefined;
}
