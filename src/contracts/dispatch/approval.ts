// Approval of a single contract call: whether it is needed, and the request for it.

import type { Contract, ContractPolicy } from "../../model/index.ts";
import { within } from "../../upstream/index.ts";
import type { CheckedCall, DispatchParts } from "./contract-call.ts";
import { fail } from "./failure.ts";

/** Why a call needs approval; undefined when it needs none. Drivers do not influence it. */
export function approvalReason(
  { approval, mutates, riskLevel, id }: Contract,
  policy: ContractPolicy,
): string | undefined {
  if (approval === "always") return `${id} requires approval of every call`;
  if (policy.approval === "always") return "the policy requires approval of every call";
  if (approval.startsWith("policy:")) return `${id} requires approval by ${approval}`;
  if (mutates.length > 0 && (approval === "on-mutate" || policy.approval === "on-mutate"))
    return `${id} changes ${mutates.join(", ")}`;
  if (policy.approveFromRisk !== undefined && riskLevel >= policy.approveFromRisk)
    return `${id} has the risk level ${riskLevel}`;
  return undefined;
}

/** Throws unless the call is approved, or the policy allows calls that nobody can approve. A cancelled call does not wait. */
export async function requireApproval(
  { call, prepared: { contract }, input, context }: CheckedCall,
  driver: string,
  reason: string,
  { policy, approve, approvalHint }: DispatchParts,
): Promise<void> {
  if (call.approved === true) return;
  const mayRunUnattended = policy.unattended === "allow";
  const deciding = approve?.({ contract, driver, input, context, reason, call, mayRunUnattended });
  const { signal } = call;
  const what = `waiting for the approval of ${contract.id}`;
  const answer = await (deciding === undefined || signal === undefined
    ? deciding
    : within(deciding, { server: driver, what, ms: 0, signal }));
  if (answer === true || (answer === undefined && mayRunUnattended)) return;
  if (answer === undefined)
    throw fail(
      "unauthorised",
      `The call was not made: it needs approval, and nobody here can approve it. Reason: ${reason}.${approvalHint === undefined ? "" : ` ${approvalHint}`}`,
    );
  throw fail("unauthorised", `The call was not approved${typeof answer === "string" ? `: ${answer}` : "."}`);
}
