// Approval of contract calls: an elicitation to the caller, or to the person at this program, that shows the arguments.

import type { ApprovalRequest } from "../../contracts/index.ts";
import { isObject } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { ServerRequestHandler } from "../../upstream/index.ts";

const SHOWN_CHARS = 1_000;
/** Prefix of the ids of these elicitations. Where answers are matched by id, the gateway replaces it with a random one. */
export const APPROVAL_ID = "approve-";

/** The key of `_meta` that distinguishes these elicitations from those of servers. */
const APPROVAL_META = "portolan/approval";

/** `otherwise` handles calls whose caller has no handler. */
export async function approveByElicitation(
  request: ApprovalRequest,
  otherwise: ServerRequestHandler | undefined,
  redactor: Redactor,
): Promise<boolean | string | undefined> {
  const { contract, input, call } = request;
  const handler = call.ask ?? otherwise;
  if (handler === undefined) return undefined;
  const shown = shownArguments(input, redactor, SHOWN_CHARS);
  if (shown === undefined)
    return `the arguments of ${contract.id} cannot be shown for approval, because they are not JSON`;
  const answer = await elicitApproval(
    handler,
    contract.id,
    contractApprovalMessage(request, withRest(shown)),
    call.signal ?? new AbortController().signal,
  );
  return answer === "cancelled" ? false : answer;
}

/** Asks the client of a call. Undefined if it cannot be asked, `cancelled` if its person did not decide. */
export async function elicitApproval(
  handler: ServerRequestHandler,
  id: string,
  message: string,
  signal: AbortSignal,
): Promise<boolean | "cancelled" | undefined> {
  const answer = await handler({
    id: `${APPROVAL_ID}${id}`,
    method: "elicitation/create",
    params: {
      _meta: { [APPROVAL_META]: { tool: id } },
      mode: "form",
      message: oneLine(message),
      requestedSchema: {
        type: "object",
        properties: { allow: { type: "boolean", title: "Allow this call", default: false } },
        required: ["allow"],
      },
    },
    signal,
  });
  if (answer === undefined) return undefined;
  const { action, content } = answer as { action?: unknown; content?: unknown };
  if (action === "cancel") return "cancelled";
  return action === "accept" && isObject(content) && content.allow === true;
}

/** The text of the elicitation about a contract call. */
export function contractApprovalMessage(
  { contract, driver, reason }: ApprovalRequest,
  shown: string,
): string {
  const { id, name, mutates } = contract;
  const what = mutates.join(", ");
  const changes = what === "" || reason.includes(what) ? "" : ` The call changes ${what}.`;
  return `Allow the driver ${driver} to run ${id} (${oneLine(name)})? ${oneLine(reason)}.${oneLine(changes)} Arguments: ${shown}`;
}

/** Arguments as a person sees them: JSON on one line, redacted. */
export interface ShownArguments {
  readonly text: string;
  /** How many characters were cut off at the end. */
  readonly cut: number;
}

/** At most `max` characters. Undefined when the arguments cannot be serialised. */
export function shownArguments(input: unknown, redactor: Redactor, max: number): ShownArguments | undefined {
  let text: string;
  try {
    text = redactor.redactText(JSON.stringify(redactor.redactValue(input)));
  } catch {
    return undefined;
  }
  const whole = oneLine(text);
  // A surrogate pair must not be cut in half.
  const shown = whole.length <= max ? whole : whole.slice(0, max).replace(/[\uD800-\uDBFF]$/, "");
  return { text: shown, cut: whole.length - shown.length };
}

/** The arguments in a sentence. */
export function withRest({ text, cut }: ShownArguments): string {
  return cut === 0 ? text : `${text}\u2026 (and ${cut} more characters)`;
}

/** Escapes line ends, and characters that are invisible or change the text direction. */
function oneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
