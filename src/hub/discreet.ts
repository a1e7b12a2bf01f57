// What passes between a server and its callers in the middle of a call, without the secrets that the server was given.

import type { Redactor } from "../secrets/index.ts";
import type { Ask, Call } from "../upstream/index.ts";

/** What a server says on the way to its answer may repeat what it was given, too. */
export function withoutSecrets(call: Call, redactor: Redactor): Call {
  const { onProgress, ask } = call;
  if (onProgress === undefined && ask === undefined) return call;
  return {
    ...call,
    onProgress: onProgress && ((progress) => onProgress(redactor.redactValue(progress))),
    ask: ask && withRedactedQuestions(ask, redactor),
  };
}

export function withRedactedQuestions(ask: Ask, redactor: Redactor): Ask {
  return (question) => ask({ ...question, params: redactor.redactValue(question.params) });
}
