// What to do about an error, for someone at a shell: the library speaks of handlers and settings, the command has options.

import { ERROR_CODES, type ErrorCode, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  AUTH_REQUIRED: 'Give a valid credential: --header "Authorization: Bearer …"',
  TIMEOUT: "Give it more time with --timeout, or with --max-time if it reports progress.",
  MESSAGE_TOO_LARGE: "Ask for less at once.",
  TOOL_NOT_FOUND: "See what there is with portolan list.",
};

/** The same error with a hint that can be followed here. A hint that was made for the occasion stays. */
export function withShellHint(error: PortolanError): PortolanError {
  const hint = hintFor(error);
  if (hint === undefined || hint === error.hint) return error;
  const { code, message, server, tool, stderr, data, cause, stack } = error;
  const hinted = new PortolanError(code, message, { server, tool, stderr, data, cause, hint });
  if (stack !== undefined) hinted.stack = stack;
  return hinted;
}

function hintFor({ code, hint, data }: PortolanError): string | undefined {
  const isUsual = hint === ERROR_CODES[code]?.hint;
  if (
    code === "SERVER_START_FAILED" &&
    data["startTimeoutMs"] !== undefined &&
    (isUsual || hint === ERROR_CODES.TIMEOUT.hint)
  )
    return "Give it more time with --start-timeout if it is known to be slow.";
  if (!isUsual) return undefined;
  return code === "CAPABILITY_MISSING" ? capabilityHint(data["rpcData"]) : HINTS[code];
}

function capabilityHint(data: unknown): string {
  const wanted = isObject(data) && isObject(data["requiredCapabilities"]) ? data["requiredCapabilities"] : {};
  if (Object.hasOwn(wanted, "roots")) return "Offer the server a directory: --root <dir>";
  if (Object.hasOwn(wanted, "sampling"))
    return "The server wants a language model to answer (sampling); this command has none.";
  return "The server wants to ask for something that this command cannot answer.";
}
