// Decision of the program that embeds the gateway, about one call. Everything but a clear "allow" denies the call.

import { toPortolanError, type Report } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { UNDECIDED } from "./outcome.ts";
import type { ApproveCall, Verdict, WaitingCall } from "./types.ts";

/** Undefined if the program leaves the decision to others. */
export async function decideByProgram(
  approve: ApproveCall,
  { waiting, input }: { readonly waiting: WaitingCall; readonly input: unknown },
  { signal, report }: { readonly signal: AbortSignal; readonly report: Report },
): Promise<Pick<Verdict, "approve" | "reason"> | undefined> {
  const { id, caller, server, tool, reason, rule, expires, arguments: shown, cut } = waiting;
  const shownInput = cut === 0 ? shown : `${shown}\u2026`;
  let answer: unknown;
  try {
    // The program must not change the arguments, to which the approval is bound.
    const request = {
      id,
      caller,
      server,
      tool,
      input: structuredClone(input),
      shownInput,
      reason,
      rule,
      expires,
    };
    answer = await approve(request, { signal });
  } catch (thrown) {
    return failed(
      `the approve() function of the program failed, so the call was refused: ${toPortolanError(thrown).message}`,
      "Correct the function, or let it catch the error and return a decision.",
    );
  }
  if (answer === undefined) return undefined;
  if (answer === "allow") return { approve: true };
  if (answer === "deny") return { approve: false };
  if (isObject(answer) && answer.decision === "deny" && typeof answer.reason === "string")
    return { approve: false, reason: answer.reason };
  return failed(
    "the approve() function of the program returned no valid decision, so the call was refused",
    'Return "allow", "deny", { decision: "deny", reason }, or undefined for no decision.',
  );

  function failed(message: string, hint: string): Pick<Verdict, "approve" | "reason"> {
    if (!signal.aborted) report({ code: "CONFIG_INVALID", severity: "error", server, tool, message, hint });
    return { approve: false, reason: UNDECIDED };
  }
}
