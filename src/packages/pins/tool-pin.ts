// Pins of tool definitions: a hash of everything that a model or a client reads of a tool.

import { createHash } from "node:crypto";
import type { JsonObject } from "../../model/index.ts";
import { toCanonicalJson } from "../../base/text/canonical-json.ts";

/** Names the rule by which the hash was made, so that a later rule can be told apart. */
const SCHEME = "p1";

/**
 * The hash covers all fields of the definition. Of `_meta` it covers only the fields of the tool's app (`ui`, `ui/…`):
 * servers use other fields for values that differ in every answer to tools/list. Returns undefined if the definition has no canonical form; such a tool cannot be pinned.
 */
export function pinOf(tool: JsonObject): string | undefined {
  const { _meta, ...definition } = tool;
  const meta = uiOf(_meta);
  const text = toCanonicalJson(meta === undefined ? definition : { ...definition, _meta: meta });
  if (text === undefined) return undefined;
  return `${SCHEME}-${createHash("sha256").update(text).digest("base64url")}`;
}

/** The page that a tool shows is a part of its definition: a server could exchange it for a hostile one. */
function uiOf(meta: unknown): JsonObject | undefined {
  if (typeof meta !== "object" || meta === null) return undefined;
  const entries = Object.entries(meta).filter(([key]) => key === "ui" || key.startsWith("ui/"));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
