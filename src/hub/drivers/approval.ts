// Calls that need approval: whoever made the call is asked, if they can be asked, and sees what it is that they approve.

import type { ApprovalRequest } from "../../contracts/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Ask } from "../../upstream/index.ts";

const SHOWN_CHARS = 1_000;
/** What the ids of these questions begin with. Where answers are matched by id, it must be made one that cannot be guessed. */
export const APPROVAL_ID = "approve-";

/** `otherwise` is asked for calls that bring nobody with them. */
export async function approveByAsking(
  request: ApprovalRequest,
  otherwise: Ask | undefined,
  redactor: Redactor,
): Promise<boolean | string | undefined> {
  const { contract, signal, input } = request;
  const ask = request.ask ?? otherwise;
  if (ask === undefined) return undefined;
  const shown = shownArguments(input, redactor);
  if (shown === undefined)
    return `the arguments of ${contract.id} cannot be shown to whoever is to approve it`;
  const answer = await ask({
    id: `${APPROVAL_ID}${contract.id}`,
    method: "elicitation/create",
    params: {
      mode: "form",
      message: messageOf(request, shown),
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

function messageOf({ contract, driver, reason }: ApprovalRequest, shown: string): string {
  const { id, name, mutates } = contract;
  const what = mutates.join(", ");
  const changes = what === "" || reason.includes(what) ? "" : ` It changes ${what}.`;
  return `Allow ${id} (${oneLine(name)}) to run on ${driver}? ${oneLine(reason)}.${oneLine(changes)} Arguments: ${shown}`;
}

/** On one line, without secrets, and not longer than somebody reads; undefined when there is no way to write them. */
function shownArguments(input: JsonObject, redactor: Redactor): string | undefined {
  let text: string;
  try {
    text = redactor.redactText(JSON.stringify(redactor.redactValue(input)));
  } catch {
    return undefined;
  }
  const whole = oneLine(text);
  const left = whole.length - SHOWN_CHARS;
  if (left <= 0) return whole;
  // Not in the middle of a character.
  const shown = whole.slice(0, SHOWN_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  return `${shown}\u2026 (and ${left} more characters)`;
}

/** What ends a line, cannot be seen or turns the direction of a text is written as its number. */
function oneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
