// Findings of an audit, and the rules that make them.

import type { ServerConfig } from "../../model/index.ts";

export type FindingSeverity = "error" | "warning" | "note";

/** Every rule of `portolan audit`, with what it means. */
export const AUDIT_RULES = {
  "lock-missing": "A package of portolan.yaml has no entry in portolan.lock.",
  "lock-mismatch": "portolan.yaml and portolan.lock name different packages or versions.",
  "lock-orphan": "portolan.lock has an entry for a server that portolan.yaml does not have.",
  "document-missing": "The metadata of a package is not on this machine, or was damaged.",
  "document-invalid":
    "The metadata of a package does not match portolan.lock, or the package cannot run on this machine.",
  "files-missing": "The files of a package are not on this machine.",
  "files-damaged": "Files of a package were changed, added or removed after the installation.",
  advisory: "A version has a known vulnerability.",
  "version-withdrawn":
    "A version of a package was deprecated or unpublished, or is no longer in the registry.",
  policy: "A package does not meet the policy of the workspace.",
  "sandbox-relaxed":
    "The sandbox of a server is not enforced, or allows hosts or other programs beyond the permissions of its package.",
  unpinned: "The tools of a server are not pinned: portolan.lock has no approved definitions of them.",
  "tool-changed":
    "The definition of a tool differs from the approved definition (pin) in portolan.lock, or cannot be compared with it.",
  "tool-new": "A server has a new tool that is not approved.",
  "tool-removed": "A server no longer has an approved tool.",
  "not-checked": "A check could not be done.",
} as const satisfies Readonly<Record<string, string>>;

export type AuditRule = keyof typeof AUDIT_RULES;

export interface Finding {
  readonly rule: AuditRule;
  readonly severity: FindingSeverity;
  readonly server: string;
  readonly message: string;
  readonly hint?: string;
  /** An absolute path. */
  readonly file: string;
  readonly line?: number;
  /** The part of the server that the finding is about, such as a file: it makes its fingerprint unique. */
  readonly part?: string;
}

type Details = Pick<Finding, "message" | "hint" | "part">;

export function findingAt(
  server: ServerConfig,
  rule: AuditRule,
  severity: FindingSeverity,
  details: Details,
): Finding {
  const { file, line } = server.origin;
  return { rule, severity, server: server.alias, ...details, file, line };
}
