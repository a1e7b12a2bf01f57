// Requests to the registry: what every route gets, their bodies, and their errors with an HTTP status.

import type { IncomingMessage } from "node:http";
import { PortolanError } from "../../errors/index.ts";
import type { RegistryStore } from "../store/store.ts";
import type { TokenEntry } from "../store/tokens.ts";

export interface RouteContext {
  readonly store: RegistryStore;
  readonly maxFileBytes: number;
  /** Reading needs a token too. */
  readonly isPrivate: boolean;
  /** Returns the caller's token. Throws if there is none. */
  readonly authenticate: (request: IncomingMessage) => Promise<TokenEntry>;
}

export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  const announced = Number(request.headers["content-length"] ?? 0);
  const tooLarge = (): PortolanError => refused(413, `The request is larger than ${limit} bytes.`);
  if (announced > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refused(400, `The body of the request is not valid JSON: ${(error as Error).message}`);
  }
}

export function refused(status: number, message: string): PortolanError {
  return new PortolanError("INPUT_INVALID", message, { hint: "", data: { status } });
}
