// How HTTP answers are to be read: what a refusal means, whose error it is, how long to wait.

import { type RequestId, type RpcErrorObject, isModernErrorCode, isObject } from "../../../model/index.ts";
import type { HttpFailure } from "./exchange.ts";

const DEFAULT_RETRY_MS = 1_000;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 30_000;

/** 404 says so by itself. 400 means many things; it is a lost session when the server could not even tell which request it refused. */
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

/** The error that a refusal carries for this request: by its id, or because only a modern server sends such a code. */
export function errorFor(json: unknown, id: RequestId): RpcErrorObject | undefined {
  if (!isObject(json) || !isObject(json.error)) return undefined;
  const ours = json.id === id || (json.id == null && isModernErrorCode(json.error.code));
  return ours ? (json.error as unknown as RpcErrorObject) : undefined;
}

/** What the server asks for, within reason, and longer after every failure. */
export function retryDelay(wanted: number | undefined, failures: number): number {
  const delay = (wanted ?? DEFAULT_RETRY_MS) * 2 ** Math.min(failures, 10);
  return Math.min(Math.max(delay, MIN_RETRY_MS * 2 ** Math.min(failures, 10)), MAX_RETRY_MS);
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

/** `Retry-After` in either of its forms. */
export function retryAfterMs(
  value: string | string[] | undefined,
  now: number = Date.now(),
): number | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
