// The handlers that a caller registered, as capabilities to declare and as the one function that answers questions.

import { fileURLToPath } from "node:url";
import { type ElicitRequest, isObject, type JsonObject } from "../model/index.ts";
import type { Ask } from "../upstream/index.ts";
import type { McpHandlers } from "./types.ts";

export function toCapabilities(handlers: McpHandlers): JsonObject {
  return {
    ...(handlers.elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    ...(handlers.sample === undefined ? {} : { sampling: {} }),
    ...(handlers.roots === undefined ? {} : { roots: {} }),
  };
}

/** Undefined as an answer means that nobody registered for the question. */
export function toAsk(handlers: McpHandlers): Ask {
  return async ({ method, params, signal }) => {
    if (method === "elicitation/create" && handlers.elicit !== undefined) {
      const answer = await handlers.elicit(params as ElicitRequest, { signal });
      return answer.action === "accept" && params.mode !== "url"
        ? { ...answer, content: withDefaults(params, answer.content) }
        : answer;
    }
    if (method === "sampling/createMessage" && handlers.sample !== undefined)
      return handlers.sample(params, { signal });
    if (method === "roots/list" && handlers.roots !== undefined) {
      const roots = typeof handlers.roots === "function" ? await handlers.roots() : handlers.roots;
      return { roots: [...roots] };
    }
    return undefined;
  };
}

/** The folders that the caller grants, for a program that is about to start. */
export async function rootFolders({ roots }: McpHandlers): Promise<string[]> {
  const granted = typeof roots === "function" ? await roots() : (roots ?? []);
  return granted.flatMap(({ uri }) => (/^file:\/\/\//i.test(uri) ? [fileURLToPath(uri)] : []));
}

/** What the user left out but the form has a default for. */
function withDefaults(params: JsonObject, content: JsonObject | undefined): JsonObject {
  const filled: JsonObject = { ...content };
  const schema = isObject(params.requestedSchema) ? params.requestedSchema : {};
  for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (filled[name] === undefined && isObject(property) && property.default !== undefined)
      filled[name] = property.default;
  }
  return filled;
}
