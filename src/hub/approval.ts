// Calls that need approval: whoever made the call is asked, if they can be asked.

import type { ApprovalRequest } from "../contracts/index.ts";
import { isObject } from "../model/index.ts";
import type { Ask } from "../upstream/index.ts";

/** `otherwise` is asked for calls that bring nobody with them. */
export async function approveByAsking(
  { contract, driver, reason, signal, ask }: ApprovalRequest,
  otherwise: Ask | undefined,
): Promise<boolean | undefined> {
  const answer = await (ask ?? otherwise)?.({
    id: `approve-${contract.id}`,
    method: "elicitation/create",
    params: {
      mode: "form",
      message: `Allow ${contract.id} (${contract.name}) to run on ${driver}? ${reason}.`,
      requestedSchema: {
        type: "object",
        properties: { allow: { type: "boolean", title: "Allow this call", default: false } },
        required: ["allow"],
      },
    },
    signal: signal ?? new AbortController().signal,
  });
  if (answer === undefined) return undefined;
  const { action, content } = answer as { action?: unknown; content?: unknown };
  return action === "accept" && isObject(content) && content.allow === true;
}
