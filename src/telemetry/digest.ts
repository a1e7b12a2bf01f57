// Digest of the arguments of a call: equal for equal arguments, whatever the order of their keys.

import { hash } from "node:crypto";
import { toCanonicalJson } from "../base/text/canonical-json.ts";

/**
 * SHA-256 of the canonical JSON (RFC 8785), as `sha256-<base64url>`. Absent arguments have the digest of `{}`. Undefined for values
 * without a canonical form, such as half of a surrogate pair; no approval can be bound to them.
 */
export function argumentDigest(args: unknown): string | undefined {
  const text = toCanonicalJson(args ?? {});
  return text === undefined ? undefined : `sha256-${hash("sha256", text, "base64url")}`;
}
