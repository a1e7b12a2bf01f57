// SDK of OpenTelemetry for a gateway whose program has none: batches of spans and metrics to an OTLP receiver. It is a chunk of its
// own in the package, which is loaded only when an export is wanted.

import type {
  MeterProvider as ApiMeterProvider,
  TextMapPropagator,
  TracerProvider,
} from "@opentelemetry/api";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPMetricExporter as JsonMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { OtelPlan, SignalPlan } from "./plan.ts";

export interface Sdk {
  readonly tracers: TracerProvider | undefined;
  readonly meters: ApiMeterProvider | undefined;
  /** W3C trace context and baggage, which MCP uses in `_meta`; undefined if the program traces. */
  readonly propagator: TextMapPropagator | undefined;
  /** Sends what is waiting. Rejects if the receiver does not accept it. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function createSdk(plan: OtelPlan, version: string): Sdk {
  const resource = resourceOf(plan, version);
  const tracers = isOwn(plan.traces)
    ? new BasicTracerProvider({
        resource,
        sampler:
          plan.sample === undefined
            ? undefined
            : new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(plan.sample) }),
        spanProcessors: [
          new BatchSpanProcessor(
            plan.traces.protocol === "http/json"
              ? new JsonTraceExporter(exporterOptions(plan.traces))
              : new OTLPTraceExporter(exporterOptions(plan.traces)),
          ),
        ],
      })
    : undefined;
  const meters = isOwn(plan.metrics)
    ? new MeterProvider({
        resource,
        readers: [
          new PeriodicExportingMetricReader({
            exporter:
              plan.metrics.protocol === "http/json"
                ? new JsonMetricExporter(exporterOptions(plan.metrics))
                : new OTLPMetricExporter(exporterOptions(plan.metrics)),
            exportIntervalMillis: exportIntervalMs(),
          }),
        ],
      })
    : undefined;
  return {
    tracers,
    meters,
    propagator: isOwn(plan.traces)
      ? new CompositePropagator({
          propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
        })
      : undefined,
    async flush() {
      await Promise.all([tracers?.forceFlush(), meters?.forceFlush()]);
    },
    async close() {
      await Promise.allSettled([tracers?.shutdown(), meters?.shutdown()]);
    },
  };
}

const EXPORT_INTERVAL_MS = 60_000;

function exportIntervalMs(): number {
  const given = Number(process.env.OTEL_METRIC_EXPORT_INTERVAL);
  return Number.isInteger(given) && given > 0 ? given : EXPORT_INTERVAL_MS;
}

function isOwn(plan: SignalPlan | "program" | undefined): plan is SignalPlan {
  return plan !== undefined && plan !== "program";
}

function exporterOptions({ url, headers }: SignalPlan): { url?: string; headers?: Record<string, string> } {
  return {
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
  };
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override our own names, and the settings override both. */
function resourceOf({ serviceName }: OtelPlan, version: string): Resource {
  const named = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "portolan", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
  return serviceName === undefined
    ? named
    : named.merge(resourceFromAttributes({ "service.name": serviceName }));
}
