// Protocol rules for HTTP responses: lost sessions, JSON-RPC errors in failed responses, retry delays.

import { backoffMs } from "../../../base/time/retry.ts";
import { type RequestId, type RpcErrorObject, isModernErrorCode, isObject } from "../../../model/index.ts";
import type { HttpFailure } from "./exchange.ts";

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
