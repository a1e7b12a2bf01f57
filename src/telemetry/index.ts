// Public exports of the telemetry room.

export { argumentDigest } from "./digest.ts";
export { type CallMetrics, PROMETHEUS_TYPE } from "./metrics/call-metrics.ts";
export type { Gauge, Sample } from "./metrics/registry.ts";
export { Observation, type OpenPhase, trackPhase } from "./observation.ts";
export { type CallObserver, CallObservers, type PhaseStart, type RequestStart } from "./observers.ts";
export { openTelemetry, type Telemetry } from "./open-telemetry.ts";
export {
  type CallRecord,
  type ClientTransport,
  type Decision,
  type Ending,
  type Outcome,
  type Phase,
  workMs,
} from "./record.ts";
