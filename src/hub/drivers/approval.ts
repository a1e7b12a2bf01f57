// Approval of contract calls: an elicitation to the caller, or to the person at this program, that shows the arguments.

import type { ApprovalRequest } from "../../contracts/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { ServerRequestHandler } from "../../upstream/index.ts";

const SHOWN_CHARS = 1_000;
/** Prefix of the ids of these elicitations. Where answers are matched by id, the gateway replaces it with a random one. */
export const APPROVAL_ID = "approve-";

/** `otherwise` handles calls whose caller has no handler. */
export async function approveByElicitation(
  request: ApprovalRequest,
  otherwise: ServerRequestHandler | undefined,
  redactor: Redactor,
): Promise<boolean | string | undefined> {
  const { contract, signal, input } = request;
  const handler = request.ask ?? otherwise;
  if (handler === undefined) return undefined;
  const shown = shownArguments(input, redactor);
  if (shown === undefined)
    return `the arguments of ${contract.id} cannot be shown for approval, because they are not JSON`;
  const answer = await handler({
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

/** The arguments on one line, redacted and shortened; undefined when they cannot be serialised. */
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
  // A surrogate pair must not be cut in half.
  const shown = whole.slice(0, SHOWN_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  return `${shown}\u2026 (and ${left} more characters)`;
}

/** Escapes line ends, and characters that are invisible or change the text direction. */
function oneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
