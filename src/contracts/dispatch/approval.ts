// Somebody's word that a call may be made.

import type { CheckedCall, DispatchParts } from "./contract-call.ts";
import { fail } from "./failure.ts";

/** Throws unless it is given, or the policy lets calls pass that nobody watches. */
export async function requireApproval(
  { call: { signal, ask }, prepared: { contract }, input, context }: CheckedCall,
  driver: string,
  reason: string,
  { policy, approve }: DispatchParts,
): Promise<void> {
  const answer = await approve?.({ contract, driver, input, context, reason, signal, ask });
  if (answer === true || (answer === undefined && policy.unattended === "allow")) return;
  if (answer === undefined)
    throw fail("unauthorised", `This call needs approval, and nobody is there to give it: ${reason}.`);
  throw fail("unauthorised", `The call was not approved${typeof answer === "string" ? `: ${answer}` : "."}`);
}
