// What clients declare that they can answer, and what servers are told.

import { isObject, type JsonObject, RPC } from "../../model/index.ts";
import type { ServerRequest } from "../../upstream/index.ts";
import { RpcRefusal } from "./messages.ts";

const TASKS = "io.modelcontextprotocol/tasks";

export function hasTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS]);
}

/** A request about tasks needs a client that declares the extension. */
export function requireTasks(capabilities: JsonObject): void {
  if (hasTasks(capabilities)) return;
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  throw new RpcRefusal(RPC.MISSING_CAPABILITY, `The request did not declare the extension ${TASKS}`, {
    data: { requiredCapabilities },
  });
}

/** Servers may ask anything: the question goes to the client whose call caused it, and is declined when that one cannot answer. */
export const GATEWAY_CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};

/** The capability that a client lacks for a question; undefined when it can be asked. */
export function missingFor(
  question: Pick<ServerRequest, "method" | "params">,
  capabilities: JsonObject,
): JsonObject | undefined {
  const { elicitation, sampling, roots } = capabilities;
  switch (question.method) {
    case "elicitation/create":
      if (!isObject(elicitation)) return { elicitation: {} };
      if (question.params.mode === "url")
        return isObject(elicitation.url) ? undefined : { elicitation: { url: {} } };
      // Declared without any mode, it means forms.
      return isObject(elicitation.form) || elicitation.url === undefined
        ? undefined
        : { elicitation: { form: {} } };
    case "sampling/createMessage":
      if (!isObject(sampling)) return { sampling: {} };
      return question.params.tools === undefined || isObject(sampling.tools)
        ? undefined
        : { sampling: { tools: {} } };
    case "roots/list":
      return isObject(roots) ? undefined : { roots: {} };
    default:
      return {};
  }
}
