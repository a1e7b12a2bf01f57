// The words of a call and of its result in which reasons of a failure are searched.

import { isObject, type JsonObject } from "../../model/index.ts";
import type { Call } from "../upstream.ts";
import { argumentConnections, argumentPaths, type FailedConnection } from "./failed-access.ts";

/** The length up to which a result without an error is searched. */
const MAX_PLAIN = 2_000;
/** The number of content blocks of a result that are searched. */
const MAX_ITEMS = 8;

/** Paths in the arguments of a tool call. */
export function argumentsOf(call: Call | undefined): string[] {
  return call?.method === "tools/call" ? argumentPaths(call.params?.arguments) : [];
}

/** Hosts and ports in the arguments of a tool call. */
export function connectionsOf(call: Call | undefined): FailedConnection[] {
  return call?.method === "tools/call" ? argumentConnections(call.params?.arguments) : [];
}

/** The texts of a result that may report a failure: some servers do so without isError, but a long text is content. */
export function textsOf({ content }: JsonObject, isFailed: boolean): string[] {
  if (!Array.isArray(content)) return [];
  return content.slice(0, isFailed ? MAX_ITEMS : 1).flatMap((item) => {
    if (!isObject(item) || typeof item.text !== "string") return [];
    return isFailed || item.text.length <= MAX_PLAIN ? [item.text] : [];
  });
}
