// What passes between a server and its callers in the middle of a call, without the secrets that the server was given.

import type { LogMessage } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Ask, Call } from "../../upstream/index.ts";

/** What a server says on the way to its answer may repeat what it was given, too. */
export function withoutSecrets(call: Call, redactor: Redactor, alias: string): Call {
  const { onProgress, onLog, onNotification, ask } = call;
  if (onProgress === undefined && onLog === undefined && onNotification === undefined && ask === undefined)
    return call;
  return {
    ...call,
    onProgress: onProgress && ((progress) => onProgress(redactor.redactValue(progress))),
    onLog: onLog && ((message) => onLog(discreetLog(message, redactor, alias))),
    onNotification:
      onNotification && ((method, params) => onNotification(method, redactor.redactValue(params))),
    ask: ask && discreetAsk(ask, redactor),
  };
}

/** A log message as callers see it: it says at least which server it is from. */
export function discreetLog(message: LogMessage, redactor: Redactor, alias: string): LogMessage {
  return redactor.redactValue({ ...message, logger: message.logger ?? alias });
}

export function withRedactedQuestions(ask: Ask, redactor: Redactor): Ask {
  return (question) => ask({ ...question, params: redactor.redactValue(question.params) });
}

const known = new WeakMap<Ask, { readonly redactor: Redactor; readonly discreet: Ask }>();

/** Always the same function for the same one: calls that are answered by the same need not be told apart. */
function discreetAsk(ask: Ask, redactor: Redactor): Ask {
  const before = known.get(ask);
  if (before?.redactor === redactor) return before.discreet;
  const discreet = withRedactedQuestions(ask, redactor);
  known.set(ask, { redactor, discreet });
  return discreet;
}
