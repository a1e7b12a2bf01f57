// JSON values. Messages are relayed, so that unknown fields stay.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An untrusted JSON object: its fields may have any type. */
export type JsonObject = { [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
