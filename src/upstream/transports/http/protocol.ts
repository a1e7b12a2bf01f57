// Protocol rules of HTTP: headers of messages, lost sessions, JSON-RPC errors in failed responses, retry delays.

import { backoffMs } from "../../../base/time/retry.ts";
import {
  isModernErrorCode,
  isObject,
  HEADER,
  type RequestId,
  type RpcErrorObject,
  type Era,
} from "../../../model/index.ts";
import type { HttpFailure } from "./exchange.ts";
import type { OutgoingMessage } from "../outgoing-message.ts";

const DEFAULT_RETRY_MS = 1_000;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 30_000;

/** True for 404, and for a 400 whose JSON-RPC error names no request: the server did not read the request. */
export function isSessionLoss({ status, json }: HttpFailure): boolean {
  if (status === 404) return true;
  return (
    status === 400 &&
    isObject(json) &&
    isObject(json.error) &&
    json.id == null &&
    !isModernErrorCode(json.error.code)
  );
}

/** The JSON-RPC error in a failed response, if it names this request or has a code that only modern servers send. */
export function errorFor(json: unknown, id: RequestId): RpcErrorObject | undefined {
  if (!isObject(json) || !isObject(json.error)) return undefined;
  const ours = json.id === id || (json.id == null && isModernErrorCode(json.error.code));
  return ours ? (json.error as unknown as RpcErrorObject) : undefined;
}

/** The delay that the server requested, within limits, doubled after every failure. */
export function retryDelay(wanted: number | undefined, failures: number): number {
  return backoffMs(failures, Math.max(wanted ?? DEFAULT_RETRY_MS, MIN_RETRY_MS), MAX_RETRY_MS);
}

export function isAnswerTo(value: unknown, id: RequestId): boolean {
  return isObject(value) && value.id === id && typeof value.method !== "string";
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Values that may be sent as they are. */
const PLAIN = /^[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?$/;
/** The Base64 form itself, which must be encoded again. */
const SENTINEL = /^=\?base64\?.*\?=$/s;
/** Requests whose name or URI is also sent as a header. */
const NAMED = /^(?:tools\/call|prompts\/get|resources\/read|tasks\/.+)$/;

/** The headers of messages: session, revision, method and name. */
export class ProtocolHeaders {
  era: Era | undefined;
  revision: string | undefined;
  /** The session id that a legacy server gave. */
  session: string | undefined;

  of({ method, params, revision }: OutgoingMessage): Record<string, string> {
    if (revision === undefined || method === undefined) return this.ofSession();
    const headers: Record<string, string> = { [HEADER.PROTOCOL_VERSION]: revision, [HEADER.METHOD]: method };
    const name = NAMED.test(method) ? (params?.name ?? params?.uri ?? params?.taskId) : undefined;
    if (typeof name === "string") headers[HEADER.NAME] = headerValue(name);
    return headers;
  }

  /** Headers of a message that belongs to the legacy session. */
  ofSession(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.session !== undefined) headers[HEADER.SESSION_ID] = this.session;
    if (this.revision !== undefined) headers[HEADER.PROTOCOL_VERSION] = this.revision;
    return headers;
  }
}

/** A string as a header value: unchanged when that is safe, else in the Base64 form of the specification. */
export function headerValue(value: string): string {
  if ((PLAIN.test(value) && !SENTINEL.test(value)) || value === "") return value;
  return `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}
