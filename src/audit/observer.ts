// Observer that writes calls to the audit log: one line for each call of a tool, prompt or resource.

import type { CallObserver, CallRecord, Observation } from "../telemetry/index.ts";
import type { AuditLog } from "./audit-log.ts";
import type { Entry } from "./line.ts";

/** Requests that reach a server's tools and data. Lists and pings are not calls. */
const AUDITED: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "resources/subscribe",
]);

/** `redact` removes secrets from texts that come from clients. */
export function createAuditObserver(log: AuditLog, redact: (text: string) => string): CallObserver {
  return {
    needs: { digest: true },
    ended(record) {
      if (AUDITED.has(record.method)) log.append(toEntry(record, redact));
    },
  };
}

/** Writes the decision about an approved call, and resolves when it is on the disk. */
export async function syncApproved(
  log: AuditLog,
  observation: Observation,
  redact: (text: string) => string,
): Promise<void> {
  const { id, target, digest, decision, start } = observation;
  log.append({
    type: "decision",
    time: new Date().toISOString(),
    id,
    method: start.method,
    target: target && redact(target),
    caller: start.caller,
    digest,
    decision,
  });
  await log.sync();
}

function toEntry(record: CallRecord, redact: (text: string) => string): Entry {
  const { time, id, method, target, caller, client, server, tool, driver, digest, decision } = record;
  const { outcome, code, rpcCode, durationMs, trace } = record;
  return {
    type: "call",
    time,
    id,
    method,
    target: target && redact(target),
    caller,
    client: client?.name,
    server,
    tool: tool && redact(tool),
    driver,
    digest,
    decision,
    outcome,
    code,
    rpcCode,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    trace: trace?.traceId,
  };
}
