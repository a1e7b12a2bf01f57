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
import type { CallRecord, Phase } from "../record.ts";
import { type Gauge, Histogram, type HistogramSnapshot, writeGauge } from "./registry.ts";

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
    "Duration of MCP requests of clients, as the gateway answered them.",
    DURATION_BUCKETS,
  );
  const client = new Histogram(
    toName(CLIENT_DURATION),
    "Duration of MCP requests that the gateway sent to servers for its clients.",
    DURATION_BUCKETS,
  );
  return {
    server,
    client,
    ended: (record) =>
      server.record(keyOf(record), record.durationMs / 1_000, () => serverAttributes(record)),
    phase: (phase) => {
      if (phase.name === "upstream")
        client.record(phaseKey(phase), phase.durationMs / 1_000, () => clientAttributes(phase));
    },
    text(gauges) {
      const lines: string[] = [];
      server.write(lines);
      client.write(lines);
      for (const gauge of gauges) writeGauge(gauge, lines);
      return `${lines.join("\n")}\n`;
    },
  };
}

/** Names that come from clients are part of a key only if they are attributes. */
function keyOf({ method, target, server, outcome, rpcCode, revision, transport }: CallRecord): string {
  const name = server !== undefined && (method === "tools/call" || method === "prompts/get") ? target : "";
  return `${methodName(method)}\n${name}\n${outcome}\n${rpcCode}\n${revision}\n${transport}`;
}

function phaseKey({ method, target, server, outcome, rpcCode, code, revision, transport }: Phase): string {
  const name = method === "tools/call" || method === "prompts/get" ? target : "";
  return `${method}\n${name}\n${server}\n${outcome}\n${rpcCode ?? code}\n${revision}\n${transport}`;
}
