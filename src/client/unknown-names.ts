// Names of prompts and resources that a server does not have: an error of our own in place of the server's.

import { isPortolanError, type PortolanError } from "../errors/index.ts";
import type { JsonObject } from "../model/index.ts";

/**
 * Every server reports an unknown name in another way. `find` gets the server, and returns the error that its lists explain.
 * Returns the error as it is if they do not, or cannot be read.
 */
export async function explainUnknown(
  thrown: unknown,
  find: (server: string | undefined) => Promise<PortolanError | undefined>,
): Promise<unknown> {
  if (!isPortolanError(thrown) || thrown.code !== "RPC_ERROR") return thrown;
  return (await find(thrown.server).catch(() => undefined)) ?? thrown;
}

/** True if a URI of this template can be meant: it begins like the template. */
export function mayCover({ uriTemplate }: JsonObject, uri: string): boolean {
  const [start = ""] = String(uriTemplate).split("{", 1);
  return uri.startsWith(start);
}
