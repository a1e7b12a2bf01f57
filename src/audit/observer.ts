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
export function createAuditObserver(log: AuditLog, redact: Redact): CallObserver {
  return {
    ended(record, observation) {
      if (AUDITED.has(record.method)) log.append(toEntry(record, observation.digest, redact));
    },
  };
}

/** A text that comes from a client, without secrets, and at most this long. */
const MAX_TEXT = 500;

type Redact = (text: string) => string;

function clientText(text: string | undefined, redact: Redact): string | undefined {
  // Redacted before it is cut: the first half of a secret would stay.
  return typeof text === "string" ? redact(text).slice(0, MAX_TEXT) : undefined;
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

function toEntry(record: CallRecord, digest: string | undefined, redact: Redact): Entry {
  const { time, id, method, target, caller, client, server, tool, driver, decision } = record;
  const { outcome, code, rpcCode, durationMs, waitedMs, trace } = record;
  return {
    type: "call",
    time,
    id,
    method,
    target: clientText(target, redact),
    caller,
    client: clientText(client?.name, redact),
    server,
    tool: clientText(tool, redact),
    driver,
    digest,
    decision,
    outcome,
    code,
    rpcCode,
    durationMs: round(durationMs),
    waitedMs: waitedMs === undefined ? undefined : round(waitedMs),
    trace: trace?.traceId,
  };
}

/** To microseconds. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
