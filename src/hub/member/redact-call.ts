// Removes secrets from the messages that a server sends to its caller during a call.

import type { LogMessage } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { ServerRequestHandler, Call } from "../../upstream/index.ts";

/** The call with callbacks that redact: a server may repeat its secrets in progress, logs and requests. */
export function redactCall(call: Call, redactor: Redactor, alias: string): Call {
  const { onProgress, onLog, onNotification, onServerRequest } = call;
  if (
    onProgress === undefined &&
    onLog === undefined &&
    onNotification === undefined &&
    onServerRequest === undefined
  )
    return call;
  return {
    ...call,
    onProgress: onProgress && ((progress) => onProgress(redactor.redactValue(progress))),
    onLog: onLog && ((message) => onLog(redactLog(message, redactor, alias))),
    onNotification:
      onNotification && ((method, params) => onNotification(method, redactor.redactValue(params))),
    onServerRequest: onServerRequest && redactedHandler(onServerRequest, redactor),
  };
}

/** A log message as callers see it, redacted and with a logger name. */
export function redactLog(message: LogMessage, redactor: Redactor, alias: string): LogMessage {
  return redactor.redactValue({ ...message, logger: message.logger ?? alias });
}

export function redactServerRequests(
  handler: ServerRequestHandler,
  redactor: Redactor,
): ServerRequestHandler {
  return (request) => handler({ ...request, params: redactor.redactValue(request.params) });
}

const known = new WeakMap<
  ServerRequestHandler,
  { readonly redactor: Redactor; readonly redacted: ServerRequestHandler }
>();

/** The same function for the same handler, because calls with the same handler need not be kept apart. */
function redactedHandler(handler: ServerRequestHandler, redactor: Redactor): ServerRequestHandler {
  const before = known.get(handler);
  if (before?.redactor === redactor) return before.redacted;
  const redacted = redactServerRequests(handler, redactor);
  known.set(handler, { redactor, redacted });
  return redacted;
}
