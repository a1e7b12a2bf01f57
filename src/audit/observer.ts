// Observer that writes calls to the audit log: one line for each call of a tool, prompt or resource.

import type { CallObserver, Observation } from "../telemetry/index.ts";
import type { AuditLog } from "./audit-log.ts";
import { CallEntries, clientText, type Redact } from "./call-entry.ts";

/** Requests that reach a server's tools and data. Lists and pings are not calls. */
const AUDITED: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "resources/subscribe",
]);

/** `redact` removes secrets from texts that come from clients. */
export function createAuditObserver(log: AuditLog, redact: Redact): CallObserver {
  const entries = new CallEntries(redact);
  return {
    ended(record, observation) {
      if (AUDITED.has(record.method)) log.appendText(entries.textOf(record, observation.digest));
    },
  };
}

/** Writes the decision about an approved call, and resolves when it is on the disk. */
export async function syncApproved(log: AuditLog, observation: Observation, redact: Redact): Promise<void> {
  const { id, target, digest, decision, start } = observation;
  log.append({
    type: "decision",
    time: new Date().toISOString(),
    id,
    method: start.method,
    target: clientText(target, redact),
    caller: start.caller,
    digest,
    decision,
  });
  await log.sync();
}
