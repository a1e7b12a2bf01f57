// Capabilities: which server requests a client supports.

import { isObject, type JsonObject, RPC } from "../../model/index.ts";
import type { ServerRequest } from "../../upstream/index.ts";
import { RpcRefusal } from "./messages.ts";

/** Requests during which a server may send requests to the client. */
export const ALLOWS_SERVER_REQUESTS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

const TASKS = "io.modelcontextprotocol/tasks";

export function hasTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[TASKS]);
}

/** Throws for a request about tasks if the client did not declare the tasks extension. */
export function requireTasks(capabilities: JsonObject): void {
  if (hasTasks(capabilities)) return;
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  throw new RpcRefusal(
    RPC.MISSING_CAPABILITY,
    `The request needs the client capability extensions["${TASKS}"]`,
    {
      data: { requiredCapabilities },
    },
  );
}

/** The capability that a client lacks for a server request; undefined if it supports the request. */
export function missingFor(
  request: Pick<ServerRequest, "method" | "params">,
  capabilities: JsonObject,
): JsonObject | undefined {
  const { elicitation, sampling, roots } = capabilities;
  switch (request.method) {
    case "elicitation/create":
      if (!isObject(elicitation)) return { elicitation: {} };
      if (request.params.mode === "url")
        return isObject(elicitation.url) ? undefined : { elicitation: { url: {} } };
      // `elicitation: {}` without a mode means forms.
      return isObject(elicitation.form) || elicitation.url === undefined
        ? undefined
        : { elicitation: { form: {} } };
    case "sampling/createMessage":
      if (!isObject(sampling)) return { sampling: {} };
      return request.params.tools === undefined || isObject(sampling.tools)
        ? undefined
        : { sampling: { tools: {} } };
    case "roots/list":
      return isObject(roots) ? undefined : { roots: {} };
    default:
      return {};
  }
}
