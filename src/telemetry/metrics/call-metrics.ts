// Metrics of calls: the durations of requests of clients and to servers, for `/metrics`.

import {
  clientAttributes,
  CLIENT_DURATION,
  DURATION_BUCKETS,
  methodName,
  SERVER_DURATION,
  serverAttributes,
} from "../attributes.ts";
import type { CallObserver } from "../observers.ts";
import { type CallRecord, type Phase, workMs } from "../record.ts";
import { CallerCounts } from "./caller-counts.ts";
import { RefusalCounts } from "./refusal-counts.ts";
import { type Gauge, Histogram, type HistogramSnapshot, writeGauge } from "./registry.ts";
import { SeriesIndex } from "./series-index.ts";

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export interface CallMetrics extends CallObserver {
  /** Everything in the text format of Prometheus. `gauges` are those of the gateway. */
  text(gauges: readonly Gauge[]): string;
  readonly server: { snapshot(): readonly HistogramSnapshot[] };
  readonly client: { snapshot(): readonly HistogramSnapshot[] };
}

/** `mcp.server.operation.duration` is `mcp_server_operation_duration_seconds` in the text format. */
const toName = (name: string): string => `${name.replaceAll(".", "_")}_seconds`;

export function createCallMetrics(): CallMetrics {
  const server = new Histogram(
    toName(SERVER_DURATION),
    "Duration of MCP requests of clients, without the time in which a call waited for approval.",
    DURATION_BUCKETS,
  );
  const client = new Histogram(
    toName(CLIENT_DURATION),
    "Duration of MCP requests that the gateway sent to servers for its clients.",
    DURATION_BUCKETS,
  );
  const callers = new CallerCounts();
  const refused = new RefusalCounts();
  const ofRecords = new SeriesIndex<CallRecord>(server, {
    isSame: isSameSeries,
    nameOf: recordName,
    keyOf: recordKey,
    attributesOf: serverAttributes,
  });
  const ofPhases = new SeriesIndex<Phase>(client, {
    isSame: isSamePhaseSeries,
    nameOf: phaseName,
    keyOf: phaseKey,
    attributesOf: clientAttributes,
  });
  return {
    server,
    client,
    ended: (record) => {
      server.record(ofRecords.of(record), workMs(record) / 1_000);
      if (record.method !== "tools/call") return;
      callers.count(record.caller, record.outcome);
      refused.count(record.decision);
    },
    phase: (phase) => {
      if (phase.name === "upstream") client.record(ofPhases.of(phase), phase.durationMs / 1_000);
    },
    text(gauges) {
      const lines: string[] = [];
      server.write(lines);
      client.write(lines);
      writeGauge(callers.toGauge(), lines);
      writeGauge(refused.toGauge(), lines);
      for (const gauge of gauges) writeGauge(gauge, lines);
      return `${lines.join("\n")}\n`;
    },
  };
}

/** Names that come from clients are part of a key only if they are attributes. */
function recordName({ method, target, server }: CallRecord): string {
  return server !== undefined && (method === "tools/call" || method === "prompts/get") ? (target ?? "") : "";
}

function recordKey(record: CallRecord): string {
  const { method, outcome, rpcCode, revision, transport } = record;
  return `${methodName(method)}\n${recordName(record)}\n${outcome}\n${rpcCode}\n${revision}\n${transport}`;
}

/** Records of the same name. */
function isSameSeries(a: CallRecord, b: CallRecord): boolean {
  return (
    a.method === b.method &&
    a.outcome === b.outcome &&
    a.rpcCode === b.rpcCode &&
    a.revision === b.revision &&
    a.transport === b.transport &&
    (a.server === undefined) === (b.server === undefined)
  );
}

function phaseName({ method, target }: Phase): string {
  return method === "tools/call" || method === "prompts/get" ? (target ?? "") : "";
}

function phaseKey(phase: Phase): string {
  const { method, server, outcome, rpcCode, code, revision, transport } = phase;
  return `${method}\n${phaseName(phase)}\n${server}\n${outcome}\n${rpcCode ?? code}\n${revision}\n${transport}`;
}

/** Phases of the same name. */
function isSamePhaseSeries(a: Phase, b: Phase): boolean {
  return (
    a.method === b.method &&
    a.server === b.server &&
    a.outcome === b.outcome &&
    a.rpcCode === b.rpcCode &&
    a.code === b.code &&
    a.revision === b.revision &&
    a.transport === b.transport
  );
}
