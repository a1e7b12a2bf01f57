// Media types that a tool can send or read.

import { child, items, members, type Spec } from "../document/document.ts";
import type { At } from "../types.ts";

export interface Media {
  readonly type: string;
  readonly at: At;
}

/** The media types of a body or a response. */
export function mediaOf(content: At): Media[] {
  return members(content).map(({ key, at }) => ({ type: bare(key), at }));
}

/** Finds JSON: `application/json`, another JSON type, or a wildcard. */
export function findJson(media: readonly Media[]): Media | undefined {
  return (
    media.find(({ type }) => type === "application/json") ??
    media.find(({ type }) => isJson(type)) ??
    media.find(({ type }) => type === "*/*" || type === "application/*")
  );
}

export function isJson(type: string): boolean {
  return /^[^/]+\/(?:[^/]+\+)?json$/.test(type);
}

export function isForm(type: string): boolean {
  return type === "application/x-www-form-urlencoded";
}

/** Swagger 2: the list of the operation, or else the list of the whole description. */
export function listed(spec: Spec, operation: At, key: "consumes" | "produces"): string[] {
  const own = child(operation, key);
  const at = Array.isArray(own.value) ? own : child({ value: spec.root, path: [] }, key);
  return items(at).flatMap(({ value }) => (typeof value === "string" ? [bare(value)] : []));
}

function bare(type: string): string {
  return (type.split(";", 1)[0] ?? "").trim().toLowerCase();
}
