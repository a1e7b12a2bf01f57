// The protocol revision that a driver asks for: a published one, or the beginning of exactly one.

import { LEGACY_REVISIONS, MODERN_REVISION } from "../../model/index.ts";

const REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS];

export type FoundRevision =
  | { readonly ok: true; readonly revision: string }
  | { readonly ok: false; readonly message: string; readonly hint: string };

export function findRevision(written: string): FoundRevision {
  const matching = REVISIONS.filter((known) => known === written || known.startsWith(`${written}-`));
  const [revision] = matching;
  if (revision !== undefined && matching.length === 1) return { ok: true, revision };
  if (revision !== undefined)
    return {
      ok: false,
      message: "is the beginning of several published versions",
      hint: `Write one of ${matching.join(", ")}.`,
    };
  return {
    ok: false,
    message: "is not a published version of the protocol",
    hint: `Known are ${REVISIONS.join(", ")}, and the beginning of one, such as 2025-03.`,
  };
}
