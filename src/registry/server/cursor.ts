// Cursor of the official API: URL-safe, and it carries the filters, because some clients send only the cursor for page two.

import { isObject } from "../../model/index.ts";

export interface Filters {
  readonly search?: string;
  readonly version?: string;
  readonly updatedSince?: string;
  readonly includeDeleted?: boolean;
}

export interface Cursor extends Filters {
  /** The last entry of the page before. */
  readonly name: string;
  readonly after: string;
}

const MAX_CURSOR = 2_000;

export function toCursor({ name, after, search, version, updatedSince, includeDeleted }: Cursor): string {
  const value = { n: name, a: after, s: search, v: version, u: updatedSince, d: includeDeleted };
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Returns undefined for a text that this server did not make. */
export function parseCursor(text: string): Cursor | undefined {
  if (text.length > MAX_CURSOR || !/^[\w-]+$/.test(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { n, a, s, v, u, d } = value;
  const isOptionalText = (one: unknown): one is string | undefined =>
    one === undefined || typeof one === "string";
  if (typeof n !== "string" || typeof a !== "string") return undefined;
  if (!isOptionalText(s) || !isOptionalText(v) || !isOptionalText(u)) return undefined;
  if (d !== undefined && typeof d !== "boolean") return undefined;
  return {
    ...{ name: n, after: a },
    ...(s === undefined ? {} : { search: s }),
    ...(v === undefined ? {} : { version: v }),
    ...(u === undefined ? {} : { updatedSince: u }),
    ...(d === undefined ? {} : { includeDeleted: d }),
  };
}
