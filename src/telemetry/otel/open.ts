// Export by OpenTelemetry: spans and metrics of calls, to our own SDK or to that of the program around us.

import { metrics, propagation, type TextMapPropagator, trace } from "@opentelemetry/api";
import {
  CLIENT_DURATION,
  clientAttributes,
  DURATION_BUCKETS,
  SERVER_DURATION,
  serverAttributes,
} from "../attributes.ts";
import type { CallObserver } from "../observers.ts";
import { workMs } from "../record.ts";
import type { OtelPlan } from "./plan.ts";
import { createCallTracer } from "./tracer.ts";

export interface OtelOptions {
  readonly version: string;
  readonly redact: <T>(value: T) => T;
}

export interface Otel {
  readonly observer: CallObserver;
  /** Sends what is waiting. Rejects if the receiver does not accept it. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const SCOPE = "portolan";

export async function openOtel(plan: OtelPlan, { version, redact }: OtelOptions): Promise<Otel> {
  const needsSdk = [plan.traces, plan.metrics].some((signal) => signal !== undefined && signal !== "program");
  const sdk = needsSdk ? (await import("./sdk.ts")).createSdk(plan, version) : undefined;
  const tracers = plan.traces === "program" ? trace : sdk?.tracers;
  const meters = plan.metrics === "program" ? metrics : sdk?.meters;
  const meter = meters?.getMeter(SCOPE, version);
  const advice = { explicitBucketBoundaries: [...DURATION_BUCKETS] };
  const server = meter?.createHistogram(SERVER_DURATION, {
    description: "MCP request duration as observed on the receiver.",
    unit: "s",
    advice,
  });
  const client = meter?.createHistogram(CLIENT_DURATION, {
    description: "MCP request duration as observed on the sender.",
    unit: "s",
    advice,
  });
  return {
    observer: {
      tracer:
        tracers === undefined
          ? undefined
          : createCallTracer({
              tracer: tracers.getTracer(SCOPE, version),
              propagator: sdk?.propagator ?? PROGRAM_PROPAGATOR,
              arguments: plan.arguments,
              results: plan.results,
              redact,
            }),
      phase:
        client === undefined
          ? undefined
          : (phase) => {
              if (phase.name === "upstream") client.record(phase.durationMs / 1_000, clientAttributes(phase));
            },
      ended:
        server === undefined
          ? undefined
          : (record) => server.record(workMs(record) / 1_000, serverAttributes(record)),
    },
    flush: async () => sdk?.flush(),
    close: async () => sdk?.close(),
  };
}

/** The propagators that the program registered. */
const PROGRAM_PROPAGATOR: TextMapPropagator = {
  inject: (context, carrier, setter) => propagation.inject(context, carrier, setter),
  extract: (context, carrier, getter) => propagation.extract(context, carrier, getter),
  fields: () => propagation.fields(),
};
