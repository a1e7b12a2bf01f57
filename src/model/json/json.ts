// JSON values as they come off the wire: relayed, so unknown fields always stay.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object from a stranger; nothing about its fields is promised. */
export type JsonObject = { [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
