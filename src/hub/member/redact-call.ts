// Removes secrets from the messages that a server sends to its caller during a call.

import { merge } from "../../base/collections/merge.ts";
import type { LogMessage } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Call, ServerRequestHandler } from "../../upstream/index.ts";

export class CallRedactor {
  readonly #redactor: Redactor;
  readonly #alias: string;
  /** The same function for the same handler, because calls with the same handler need not be kept apart. */
  readonly #handlers = new WeakMap<ServerRequestHandler, ServerRequestHandler>();

  constructor(redactor: Redactor, alias: string) {
    this.#redactor = redactor;
    this.#alias = alias;
  }

  /** The call with callbacks that redact: a server may repeat its secrets in progress, logs and requests. */
  call(call: Call): Call {
    const { onProgress, onLog, onNotification, onServerRequest } = call;
    if (
      onProgress === undefined &&
      onLog === undefined &&
      onNotification === undefined &&
      onServerRequest === undefined
    )
      return call;
    const redactor = this.#redactor;
    const redacted: Pick<Call, "onProgress" | "onLog" | "onNotification" | "onServerRequest"> = {
      onProgress: onProgress && ((progress) => onProgress(redactor.redactValue(progress))),
      onLog: onLog && ((message) => onLog(this.log(message))),
      onNotification:
        onNotification && ((method, params) => onNotification(method, redactor.redactValue(params))),
      onServerRequest: onServerRequest && this.#handler(onServerRequest),
    };
    return merge(call, redacted);
  }

  /** A log message as callers see it, with a logger name. */
  log(message: LogMessage): LogMessage {
    return this.#redactor.redactValue({ ...message, logger: message.logger ?? this.#alias });
  }

  #handler(handler: ServerRequestHandler): ServerRequestHandler {
    let redacted = this.#handlers.get(handler);
    if (redacted === undefined) {
      redacted = redactServerRequests(handler, this.#redactor);
      this.#handlers.set(handler, redacted);
    }
    return redacted;
  }
}

export function redactServerRequests(
  handler: ServerRequestHandler,
  redactor: Redactor,
): ServerRequestHandler {
  return (request) => handler({ ...request, params: redactor.redactValue(request.params) });
}
